package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SchemaVersion is the version of the record. Newer records are shown as far as they are understood, and never claimed.
const SchemaVersion = 1

// The fields of a record. Names are short because a busy queue holds them a hundred thousand times.
//
//	v schema version   t tenant    p pipeline   s state    a attempt   r changes    c created    spec
//	qa queued again    st started  fin ended    exp expiry own owner      pr progress  ph phase
//	y microseconds by which its priority makes it count as later   du until when it rests before its next attempt   b bytes of its result
//	res result         ec, em failure           ik, sk     object keys of the request and of the attempt, one a line
//	nd, no, nt, ns, nv deaths, out of memory, transient, stalls, lost devices so far

// decodeJob reads a record. A field that cannot be read is an error, not a zero: the record is damaged.
func decodeJob(id string, f map[string]string) (Job, error) {
	job := Job{ID: id, Tenant: f["t"], State: State(f["s"]), Phase: f["ph"], Owner: f["own"]}
	read := reader{fields: f}
	job.Attempt = int(read.number("a"))
	job.Revision = read.number("r") + 1
	job.Progress = int(read.number("pr"))
	job.CreatedAt = read.time("c")
	job.StartedAt = read.time("st")
	job.CompletedAt = read.time("fin")
	job.ExpiresAt = read.time("exp")
	read.json("spec", &job.Spec)
	if f["res"] != "" {
		job.Result = new(Result)
		read.json("res", job.Result)
	}
	if f["ec"] != "" {
		job.Failure = &Failure{Code: f["ec"], Message: f["em"]}
	}
	if read.err != nil {
		return Job{}, fmt.Errorf("jobs: record %s: %w", id, read.err)
	}
	return job, nil
}

// reader reads fields and keeps the first error.
type reader struct {
	fields map[string]string
	err    error
}

func (r *reader) number(name string) int64 {
	text := r.fields[name]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", name, err)
	}
	return n
}

func (r *reader) time(name string) time.Time {
	ms := r.number(name)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *reader) json(name string, into any) {
	if err := json.Unmarshal([]byte(r.fields[name]), into); err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", name, err)
	}
}

// encodeResult writes a result, and the object keys that the job keeps, one a line.
func encodeResult(result Result) (document []byte, kept string, err error) {
	var keys []string
	for _, k := range []string{result.VideoKey, result.ThumbnailKey, result.SpritesheetKey, result.ManifestKey} {
		if k != "" {
			keys = append(keys, k)
		}
	}
	if !validKeys(keys) {
		return nil, "", fmt.Errorf("object key: %w", ErrInvalid)
	}
	document, err = json.Marshal(result)
	if err != nil {
		return nil, "", fmt.Errorf("result: %w: %w", ErrInvalid, err)
	}
	return document, strings.Join(keys, "\n"), nil
}

// ms writes a duration as a script reads it.
func ms(d time.Duration) int64 { return d.Milliseconds() }
