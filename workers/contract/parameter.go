package contract

import (
	"slices"
	"strings"
)

// read coerces a value, text included, to the parameter's type and checks its bounds. spelling is the name that the client used.
func (p Parameter) read(spelling string, value any) (any, error) {
	switch p.Type {
	case TypeInteger:
		whole, ok := toInteger(value)
		if !ok {
			return nil, invalid(spelling, CodeInvalidType, "%s must be a whole number of 64 bits", spelling)
		}
		return whole, p.checkRange(spelling, float64(whole))
	case TypeNumber:
		number, ok := toNumber(value)
		if !ok {
			return nil, invalid(spelling, CodeInvalidType, "%s must be a finite number", spelling)
		}
		return number, p.checkRange(spelling, number)
	case TypeBoolean:
		truth, ok := toBoolean(value)
		if !ok {
			return nil, invalid(spelling, CodeInvalidType, "%s must be true or false", spelling)
		}
		return truth, nil
	}
	text, ok := value.(string)
	if !ok {
		return nil, invalid(spelling, CodeInvalidType, "%s must be a string", spelling)
	}
	return text, p.checkText(spelling, text)
}

// checkRange returns an untyped nil where the number is within the bounds.
func (p Parameter) checkRange(spelling string, number float64) error {
	if p.Min != nil && number < *p.Min {
		return invalid(spelling, CodeInvalidValue, "%s must be at least %g", spelling, *p.Min)
	}
	if p.Max != nil && number > *p.Max {
		return invalid(spelling, CodeInvalidValue, "%s must be at most %g", spelling, *p.Max)
	}
	return nil
}

func (p Parameter) checkText(spelling, text string) error {
	if p.LengthMax > 0 && len(text) > p.LengthMax {
		return invalid(spelling, CodeInvalidValue, "%s must be at most %d bytes", spelling, p.LengthMax)
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
		return invalid(spelling, CodeInvalidValue, "%s must be one of %s", spelling, strings.Join(p.Enum, ", "))
	}
	return nil
}

func toBoolean(value any) (truth, ok bool) {
	switch v := value.(type) {
	case bool:
		return v, true
	case string:
		switch v {
		case "true", "True", "1":
			return true, true
		case "false", "False", "0":
			return false, true
		}
	}
	return false, false
}
