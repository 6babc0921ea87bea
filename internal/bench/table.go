package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Run is one named run with what the processes used meanwhile.
type Run struct {
	Name      string          `json:"name"`
	Machine   Machine         `json:"machine"`
	Result    Result          `json:"result"`
	Processes []ProcessResult `json:"processes"`
}

// mebibyte is the unit of memory in tables.
const mebibyte = 1 << 20

// String says where a run was made, in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%d x %s, Linux %s, %s, load average %s", m.Cores, m.CPU, m.Kernel, m.Go, m.LoadAverage())
}

// Table shows runs to people, times in milliseconds.
func Table(runs []Run) string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0) // never fails: neither does what it writes to
	_, _ = fmt.Fprintln(t, "run\tkind\trate\tachieved\tp50\tp90\tp99\tp99.9\tmax\tservice p99\tlate p99\tsent\terrors\tload\tprocesses: CPU s, RSS MiB")
	for _, r := range runs {
		kinds := slices.Sorted(maps.Keys(r.Result.Kinds))
		if len(kinds) > 1 {
			writeRow(t, r, "all", r.Result.Total)
		}
		for _, kind := range kinds {
			writeRow(t, r, kind, r.Result.Kinds[kind])
		}
	}
	_ = t.Flush()
	return text.String()
}

func writeRow(w io.Writer, r Run, kind string, k KindResult) {
	rate, achieved, late, load, processes := "", "", "", "", ""
	if kind == "all" || len(r.Result.Kinds) == 1 {
		rate, achieved = fmt.Sprintf("%.0f", r.Result.RateTarget), fmt.Sprintf("%.1f", r.Result.RateAchieved)
		late, load, processes = cell(r.Result.LatenessMS.P99), r.Machine.LoadAverage(), r.processes()
	}
	q := k.ResponseMS
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Name, kind, rate, achieved,
		cell(q.P50), cell(q.P90), cell(q.P99), cell(q.P999), cell(q.Max), cell(k.ServiceMS.P99), late,
		k.Requests-k.Dropped, r.failures(k), load, processes)
}

func (r Run) processes() string {
	var parts []string
	for _, p := range r.Processes {
		parts = append(parts, fmt.Sprintf("%s %.1f, %d", p.Name, p.CPUSeconds, p.RSSBytesMax/mebibyte))
	}
	return strings.Join(parts, "; ")
}

// failures counts them, with the classes of the whole run behind.
func (r Run) failures(k KindResult) string {
	if k.Failed+k.Dropped == 0 {
		return "0"
	}
	var classes []string
	for _, class := range slices.Sorted(maps.Keys(r.Result.Errors)) {
		classes = append(classes, fmt.Sprintf("%s %d", class, r.Result.Errors[class]))
	}
	return fmt.Sprintf("%d failed, %d dropped (%s)", k.Failed, k.Dropped, strings.Join(classes, ", "))
}

// cell writes a number with two decimals, and a dash for an unknown one.
func cell(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}
