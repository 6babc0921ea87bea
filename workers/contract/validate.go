package contract

import (
	"slices"
	"sort"
	"strings"
)

// Input is a request before it is checked: fields as a JSON decoder or a form gives them.
type Input struct {
	// Task is one of the Task* constants, or empty to be chosen by the inputs.
	Task string
	// Inputs names the inputs that are there, such as "prompt", "input_reference" and "video". A blank prompt is not there.
	Inputs []string
	// Fields are all other fields by the name that the client used: strings, bools, numbers (json.Number, float64, int, int64),
	// nil, and for camera a decoded tree or JSON text. null, and the text "null", mean that a field is not given.
	Fields map[string]any
	// DefaultWidth and DefaultHeight replace the contract's default size (pixels) where both are set, for model names of other
	// vendors whose default is another one.
	DefaultWidth, DefaultHeight int
	// Live is whether it is a live session that is asked for.
	Live bool
}

// Resolved is a checked request: everything decided but the seed, which stays open where none was given.
type Resolved struct {
	Task   string `json:"task"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	// Size is "WIDTHxHEIGHT".
	Size string `json:"size"`
	// FPS is frames a second, Frames how many frames the video has, Seconds its exact length as shortest decimal text.
	FPS     int    `json:"fps"`
	Frames  int    `json:"frames"`
	Seconds string `json:"seconds"`
	// Seed is nil where the request had none.
	Seed   *int64  `json:"seed"`
	Camera *Camera `json:"camera,omitempty"`
	// Parameters are the typed fields by canonical name: int64, float64, string or bool. Defaults are filled in.
	Parameters map[string]any `json:"parameters,omitempty"`
}

// Validate checks a request against a contract. Its error is always an *Error, for the first field at fault; the order of the checks is
// fixed, so that the same request gets the same answer.
func Validate(c Contract, in Input) (Resolved, error) {
	r := reading{c: c, in: in, left: map[string]any{}}
	for name, value := range in.Fields {
		if !isNull(value) {
			r.left[name] = value
		}
	}
	r.unknownFields()
	r.task()
	r.count()
	r.sizeField()
	r.lengthFields()
	r.parameters()
	r.camera()
	if r.err != nil {
		return Resolved{}, r.err
	}
	return r.out, nil
}

// reading is one Validate under way; after the first fault every further check does nothing that is seen.
type reading struct {
	c    Contract
	in   Input
	left map[string]any
	out  Resolved
	err  error
}

func (r *reading) fail(param, code, format string, args ...any) {
	r.failWith(invalid(param, code, format, args...))
}

func (r *reading) failWith(err error) {
	if r.err == nil {
		r.err = err
	}
}

// take removes a field from what is left to read.
func (r *reading) take(name string) (any, bool) {
	value, given := r.left[name]
	delete(r.left, name)
	return value, given
}

func (r *reading) takeText(name string) (string, bool) {
	value, given := r.take(name)
	if !given {
		return "", false
	}
	text, isText := value.(string)
	if !isText {
		r.fail(name, CodeInvalidType, "%s must be a string", name)
	}
	return text, isText
}

func (r *reading) takeInteger(name string, least, most int64) (int64, bool) {
	value, given := r.take(name)
	if !given {
		return 0, false
	}
	whole, ok := toInteger(value)
	if !ok || whole < least || whole > most {
		r.fail(name, CodeInvalidValue, "%s must be a whole number from %d to %d", name, least, most)
		return least, true
	}
	return whole, true
}

// unknownFields refuses what no rule of the contract reads. It goes by name, so that the answer does not depend on map order.
func (r *reading) unknownFields() {
	names := make([]string, 0, len(r.left))
	for name := range r.left {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		field, known := r.c.Field(name)
		if !known {
			r.fail(name, CodeUnknownParameter, "Unknown parameter: %s. The pipeline %s does not take it.", quote(name), r.c.Name)
			return
		}
		if field.Live && !r.in.Live {
			r.fail(name, CodeUnsupportedParameter, "%s is for live sessions only", name)
			return
		}
	}
}

// task chooses the task, or checks the one that was asked for.
func (r *reading) task() {
	if r.in.Task == "" {
		r.chooseTask()
	}
	if r.out.Task == "" && r.in.Task != "" {
		r.out.Task = r.in.Task
	}
	index := slices.IndexFunc(r.c.Tasks, func(t Task) bool { return t.Name == r.out.Task })
	if index < 0 {
		r.fail("task", CodeUnsupportedParameter, "the pipeline %s does not do the task %s", r.c.Name, quote(r.out.Task))
		return
	}
	task := r.c.Tasks[index]
	for _, name := range task.RequiredInputs {
		if !slices.Contains(r.in.Inputs, name) {
			r.fail(name, CodeMissingParameter, "Missing required parameter: %s.", quote(name))
		}
	}
	for _, name := range r.in.Inputs {
		if !slices.Contains(task.RequiredInputs, name) && !slices.Contains(task.OptionalInputs, name) {
			r.fail(name, CodeUnsupportedParameter, "%s is not supported for the task %s of the pipeline %s", name, task.Name, r.c.Name)
		}
	}
}

// chooseTask takes the task with the most required inputs, all of them there; the contract's order decides between equals. Where no
// task has all that it needs, it takes the first one, so that the answer names the input that is missing.
func (r *reading) chooseTask() {
	most := -1
	for _, task := range r.c.Tasks {
		missing := slices.ContainsFunc(task.RequiredInputs, func(name string) bool { return !slices.Contains(r.in.Inputs, name) })
		if !missing && len(task.RequiredInputs) > most {
			most, r.out.Task = len(task.RequiredInputs), task.Name
		}
	}
	if r.out.Task == "" && len(r.c.Tasks) > 0 {
		r.out.Task = r.c.Tasks[0].Name
	}
}

// count refuses more than one video a request.
func (r *reading) count() {
	for _, name := range []string{"n", "num_outputs_per_prompt"} {
		value, given := r.take(name)
		if whole, ok := toInteger(value); given && (!ok || whole != 1) {
			r.fail(name, CodeInvalidValue, "%s must be 1", name)
		}
	}
}

func (r *reading) camera() {
	value, given := r.take("camera")
	if !given {
		return
	}
	camera, err := ParseCamera(value)
	if err != nil {
		r.failWith(err)
		return
	}
	r.out.Camera = camera
}

// parameters reads the typed fields of the contract.
func (r *reading) parameters() {
	for _, parameter := range r.c.Parameters {
		if parameter.Live && !r.in.Live {
			continue
		}
		value, spelling := r.takeParameter(parameter)
		if spelling == "" {
			value = parameter.Default
		} else {
			var err error
			if value, err = parameter.read(spelling, value); err != nil {
				r.failWith(err)
				continue
			}
		}
		switch {
		case value == nil:
		case parameter.Name == "seed":
			seed, _ := toInteger(value)
			r.out.Seed = &seed
		default:
			if r.out.Parameters == nil {
				r.out.Parameters = map[string]any{}
			}
			r.out.Parameters[parameter.Name] = value
		}
	}
}

// takeParameter finds a parameter under any of its spellings; two spellings at once contradict each other.
func (r *reading) takeParameter(parameter Parameter) (value any, spelling string) {
	for _, name := range append([]string{parameter.Name}, parameter.Aliases...) {
		other, given := r.take(name)
		if !given {
			continue
		}
		if spelling != "" {
			r.fail(name, CodeInvalidValue, "%s and %s are the same parameter; give one of them", spelling, name)
			return value, spelling
		}
		value, spelling = other, name
	}
	return value, strings.TrimSpace(spelling)
}
