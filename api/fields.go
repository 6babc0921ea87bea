package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fields is a decoded body, the same for every content type: a tree of nil, string, bool, json.Number, []any, map[string]any and
// *upload.
type fields struct {
	values map[string]any
	// form is whether the values came as text, so that text may stand for null and for objects.
	form bool
	// uploads are all files of the body, to be given back at the end.
	uploads []*upload
	// release gives the memory of large text back; nil where none is held.
	release func()
}

// upload is a file part.
type upload struct {
	// filename is the client's, for show alone: nothing is ever stored under it.
	filename string
	*spool
}

// close gives back the space of every file and text. It may be called again.
func (f *fields) close() {
	f.values = nil
	if f.release != nil {
		f.release()
	}
	for _, u := range f.uploads {
		_ = u.Close() // a file without a name: there is nothing left to lose
	}
}

// take removes a field from the tree and answers it; a null is as if it were not there.
func (f *fields) take(name string) (any, bool) {
	value, given := f.values[name]
	delete(f.values, name)
	if value == nil || f.form && value == "null" {
		return nil, false
	}
	return value, given
}

// objectFields are those whose text may be the JSON of an object or a list.
func objectField(name string) bool {
	switch name {
	case "input_reference", "video", "metadata", "camera", "characters", "image", "config", "extra_body", "extra_params", "extra_json":
		return true
	}
	return false
}

// put sets the value of a form's field; the name may have brackets: a[b], a[], a[0].
func (f *fields) put(name string, value any) error {
	path, err := parseName(name)
	if err != nil {
		return err
	}
	root := path[0]
	if text, ok := value.(string); ok {
		if err := checkText(root, text); err != nil {
			return err
		}
		if len(path) == 1 && objectField(root) {
			if value, err = objectText(root, text); err != nil {
				return err
			}
		}
	}
	tree, err := insert(f.values[root], path[1:], value, root)
	if err != nil {
		return err
	}
	f.values[root] = tree
	return nil
}

// objectText decodes text that looks like JSON of an object or a list; other text stays as it is.
func objectText(name, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return text, nil
	}
	value, err := decodeJSON([]byte(trimmed))
	if err != nil {
		return nil, badRequest(name, codeInvalidValue, name+" is not valid JSON.")
	}
	return value, nil
}

// insert puts a value under a path and answers the new tree. A name that comes twice makes a list, as repeated fields do; an object and a
// plain value under one name contradict each other.
func insert(tree any, path []string, value any, root string) (any, error) {
	if len(path) == 0 {
		switch old := tree.(type) {
		case nil:
			return value, nil
		case []any:
			return append(old, value), nil
		case map[string]any:
			return nil, contradiction(root)
		default:
			return []any{old, value}, nil
		}
	}
	step := path[0]
	if step == "" { // a[]
		list, ok := tree.([]any)
		if tree != nil && !ok {
			return nil, contradiction(root)
		}
		item, err := insert(nil, path[1:], value, root)
		return append(list, item), err
	}
	object, ok := tree.(map[string]any)
	if tree != nil && !ok {
		return nil, contradiction(root)
	}
	if object == nil {
		object = map[string]any{}
	}
	item, err := insert(object[step], path[1:], value, root)
	object[step] = item
	return object, err
}

func contradiction(name string) error {
	return badRequest(name, codeInvalidValue, name+" is given in two ways that contradict each other.")
}

// parseName splits a[b][c] into its steps.
func parseName(name string) ([]string, error) {
	if name == "" || len(name) > nameBytesMax || !utf8.ValidString(name) || strings.ContainsFunc(name, isControl) {
		return nil, badRequest("", codeInvalidBody, "A field has no usable name.")
	}
	root, rest, _ := strings.Cut(name, "[")
	if root == "" {
		return nil, badName(name)
	}
	path := []string{root}
	for rest != "" {
		step, after, closed := strings.Cut(rest, "]")
		if !closed || strings.Contains(step, "[") || after != "" && after[0] != '[' || len(path) >= jsonDepthMax {
			return nil, badName(name)
		}
		path = append(path, step)
		rest = strings.TrimPrefix(after, "[")
		if after == "[" {
			return nil, badName(name)
		}
	}
	if len(path) == 1 && name != root {
		return nil, badName(name)
	}
	return path, nil
}

func badName(name string) error {
	return badRequest(shown(name), codeInvalidBody, "The field name "+strconv.QuoteToASCII(shown(name))+" has brackets that do not match.")
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// shown bounds a client's own text before it is shown back.
func shown(text string) string {
	const shownMax = 64
	if len(text) <= shownMax {
		return text
	}
	return strings.ToValidUTF8(text[:shownMax], "")
}

// checkText refuses what no field may have: bytes that are not UTF-8, and NUL.
func checkText(name, text string) error {
	if !utf8.ValidString(text) {
		return badRequest(name, codeInvalidValue, name+" is not valid UTF-8.")
	}
	if strings.IndexByte(text, 0) >= 0 {
		return badRequest(name, codeInvalidValue, name+" must not contain NUL.")
	}
	return nil
}

// kind names a decoded value's type in messages.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	case *upload:
		return "a file"
	}
	return "an object"
}
