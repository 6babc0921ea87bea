package api

import (
	"strings"
	"unicode/utf8"

	"telefuser/jobs"
)

// takePrompt takes the required prompt. Missing, null, blank and not text are one and the same mistake, because SDKs differ in which of
// them they send for an empty one.
func takePrompt(f *fields) (string, error) {
	value := f.values["prompt"]
	delete(f.values, "prompt")
	text, isText := value.(string)
	if !isText || strings.TrimSpace(text) == "" {
		return "", badRequest("prompt", codeInvalidPrompt, "prompt must be text of 1 to 32000 characters that is not blank.")
	}
	if err := checkText("prompt", text); err != nil {
		return "", err
	}
	if utf8.RuneCountInString(text) > promptRunesMax {
		return "", promptTooLong()
	}
	return text, nil
}

func promptTooLong() error {
	return badRequest("prompt", codeTooLong, "prompt must have at most 32000 characters.")
}

// takeText takes an optional text field.
func takeText(f *fields, name string) (string, error) {
	value, given := f.take(name)
	if !given {
		return "", nil
	}
	text, isText := value.(string)
	if !isText {
		return "", badRequest(name, codeInvalidType, "Invalid type for '"+name+"': expected a string, but got "+kind(value)+" instead.")
	}
	return text, checkText(name, text)
}

// takePriority takes what orders a tenant's own videos; "" where it is absent.
func takePriority(f *fields) (jobs.Priority, error) {
	text, err := takeText(f, "priority")
	if err != nil {
		return "", err
	}
	switch priority := jobs.Priority(text); priority {
	case "", jobs.PriorityNormal:
		return "", nil
	case jobs.PriorityHigh, jobs.PriorityLow:
		return priority, nil
	}
	return "", badRequest("priority", codeInvalidValue, "priority must be high, normal or low.")
}

// takeMetadata takes the client's own pairs.
func takeMetadata(f *fields) (map[string]string, error) {
	value, given := f.take("metadata")
	if !given {
		return nil, nil // no metadata is an ordinary request
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, badRequest("metadata", codeInvalidType, "Invalid type for 'metadata': expected an object of strings, but got "+kind(value)+" instead.")
	}
	if len(object) > metadataPairsMax {
		return nil, badRequest("metadata", codeInvalidValue, "metadata must have at most 16 pairs.")
	}
	pairs := make(map[string]string, len(object))
	for key, value := range object {
		text, isText := value.(string)
		switch {
		case !isText:
			return nil, badRequest("metadata", codeInvalidType, "metadata must have strings as values.")
		case key == "" || utf8.RuneCountInString(key) > metadataKeyRunesMax:
			return nil, badRequest("metadata", codeInvalidValue, "metadata must have keys of 1 to 64 characters.")
		case utf8.RuneCountInString(text) > metadataValueRunesMax:
			return nil, badRequest("metadata", codeInvalidValue, "metadata must have values of at most 512 characters.")
		}
		if err := checkText("metadata", key+text); err != nil {
			return nil, err
		}
		pairs[key] = text
	}
	return pairs, nil
}

// mergeExtras moves the fields of the catch-all objects, of those named in more first, to the top level, where what stands there already wins.
func mergeExtras(f *fields, more ...string) error {
	for _, name := range append(more, "extra_body", "extra_params", "extra_json") {
		value, given := f.take(name)
		if !given {
			continue
		}
		if text, isText := value.(string); isText { // forms have parsed theirs already; in JSON some clients send text too
			var err error
			if value, err = objectText(name, text); err != nil {
				return err
			}
		}
		object, isObject := value.(map[string]any)
		if !isObject {
			return badRequest(name, codeInvalidType, "Invalid type for '"+name+"': expected an object, but got "+kind(value)+" instead.")
		}
		for key, value := range object {
			if _, explicit := f.values[key]; !explicit {
				f.values[key] = value
			}
		}
	}
	return nil
}

// refusePaths names what other servers accept and this one never will: places in the server's own file system, and references that no
// pipeline here takes.
func refusePaths(f *fields) error {
	for _, name := range sortedNames(f.values) {
		if name == "output_path" || strings.HasSuffix(name, "_path") || name == "path" {
			return badRequest(shown(name), codeUnknownParameter, "Unknown parameter: "+quoteName(shown(name))+". Paths on the server are never accepted.")
		}
	}
	return nil
}

// checkLeft looks through what is left for the contract: files there are none, and text has no NUL.
func checkLeft(f *fields) error {
	for _, name := range sortedNames(f.values) {
		switch v := f.values[name].(type) {
		case *upload:
			return badRequest(shown(name), codeUnknownParameter, "Unknown parameter: "+quoteName(shown(name))+". It does not take a file.")
		case string:
			if err := checkText(shown(name), v); err != nil {
				return err
			}
		}
	}
	return nil
}
