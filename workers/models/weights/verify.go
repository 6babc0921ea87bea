package weights

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Checks are what Verify does beside comparing names, types and shapes.
type Checks struct {
	// Deep reads every byte: values have to be finite, and files those of SHA256SUMS, if there is one.
	Deep bool
	// Tokenizer opens a tokenizer's folder; nil: only its place is looked for.
	Tokenizer func(dir string) error
}

// Verdict is what Verify found.
type Verdict struct {
	Dir     string        `json:"dir"`
	OK      bool          `json:"ok"`
	Parts   []PartVerdict `json:"parts"`
	Digests []Digest      `json:"digests,omitempty"`
}

// PartVerdict is what was found of one part. Sizes are those of the checkpoint.
type PartVerdict struct {
	Part       Part   `json:"part"`
	OK         bool   `json:"ok"`
	Path       string `json:"path,omitempty"`
	Config     string `json:"config,omitempty"` // "built in": no file describes the shape
	Layout     Layout `json:"layout,omitempty"`
	Files      int    `json:"files,omitempty"`
	Tensors    int    `json:"tensors,omitempty"`
	Parameters int64  `json:"parameters,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
	// Problems are sentences; Report has the tensors that differ, by name.
	Problems []string `json:"problems,omitempty"`
	Report   *Report  `json:"report,omitempty"`
}

// Verify holds the model in a folder to its configuration. The error is that of a folder that
// cannot be read at all, or the context's; whatever is wrong with the model is in the verdict.
func Verify(ctx context.Context, dir string, checks Checks) (Verdict, error) {
	f, err := Find(dir)
	if errors.Is(err, ErrConfig) {
		return Verdict{Dir: dir, Parts: []PartVerdict{{Part: "index", Path: filepath.Join(dir, diffusersIndex), Problems: []string{sentence(err)}}}}, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Dir: dir, OK: true}
	for _, p := range f.Places {
		if p.Part == PartTokenizer {
			v.Parts = append(v.Parts, p.verifyTokenizer(checks))
		} else {
			v.Parts = append(v.Parts, p.verify(ctx, checks.Deep))
		}
		if last := &v.Parts[len(v.Parts)-1]; p.Part == PartVAE {
			if problem := f.foreign(); problem != "" {
				last.OK, last.Problems = false, append(last.Problems, problem)
			}
		}
		if err := ctx.Err(); err != nil {
			return Verdict{}, err
		}
		v.OK = v.OK && v.Parts[len(v.Parts)-1].OK
	}
	if checks.Deep {
		if v.Digests, err = checkDigests(ctx, dir); err != nil {
			return Verdict{}, err
		}
		for _, d := range v.Digests {
			v.OK = v.OK && d.OK
		}
	}
	return v, nil
}

// verify holds one network to its configuration.
func (p Place) verify(ctx context.Context, deep bool) PartVerdict {
	v := p.verdict()
	if p.Path == "" {
		return v
	}
	c, err := Open(p.Path)
	if err != nil {
		return v.fail(err)
	}
	defer c.Close()
	for _, f := range c.files {
		v.Files++
		v.Bytes += int64(len(f.mapping))
	}
	for _, e := range c.entries {
		v.Tensors++
		v.Parameters += int64(e.Len())
	}
	b, err := p.Blueprint(c)
	if err != nil {
		return v.fail(err)
	}
	s, report := c.compare(b)
	v.Layout = s.layout
	if !report.OK() {
		v.Report = &report
		v.Problems = report.Lines()
		return v
	}
	if deep {
		v.Problems = s.notFinite(ctx)
	}
	v.OK = len(v.Problems) == 0
	return v
}

// verifyTokenizer opens the tokenizer.
func (p Place) verifyTokenizer(checks Checks) PartVerdict {
	v := p.verdict()
	if p.Path == "" {
		return v
	}
	v.Config = ""
	if checks.Tokenizer != nil {
		if err := checks.Tokenizer(p.Path); err != nil {
			return v.fail(err)
		}
	}
	v.OK = true
	return v
}

// verdict says where the part lies, or where it was looked for.
func (p Place) verdict() PartVerdict {
	v := PartVerdict{Part: p.Part, Path: p.Path, Config: p.Config}
	if p.Path == "" {
		v.Problems = []string{"it is missing; looked for " + strings.Join(p.Sought, ", ")}
	} else if p.Config == "" {
		v.Config = "built in"
	}
	return v
}

func (v PartVerdict) fail(err error) PartVerdict {
	v.Problems = append(v.Problems, sentence(err))
	return v
}

// sentence is an error without the room's name.
func sentence(err error) string { return strings.TrimPrefix(err.Error(), "weights: ") }

// notFinite reads all values and names the tensors that hold an infinity or no number.
func (s *Set) notFinite(ctx context.Context) []string {
	var all []string
	for _, p := range s.blueprint.Parameters {
		if ctx.Err() != nil {
			return all
		}
		e := s.stored[p.Name]
		if i, ok := firstNotFinite(e.file.Data(e.Entry), e.Type); ok {
			all = append(all, fmt.Sprintf("%s is not finite at element %d", e.Name, i))
		}
	}
	return all
}

// firstNotFinite finds the first element whose exponent is all ones.
func firstNotFinite(data []byte, t Type) (int, bool) {
	var high byte = 0x7f // of F32 and BF16, whose last two bytes are alike
	next := byte(0x80)
	if t == F16 {
		high, next = 0x7c, 0
	}
	size := t.Bytes()
	for i := size - 1; i < len(data); i += size {
		if data[i]&high == high && data[i-1]&next == next {
			return i / size, true
		}
	}
	return 0, false
}
