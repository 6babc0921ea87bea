package contract

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// exactMax is the largest magnitude at which every whole float64 stands for one whole number.
const exactMax = 1 << 53

// toNumber reads a finite number from what a JSON decoder or a form gives.
func toNumber(value any) (float64, bool) {
	var number float64
	switch v := value.(type) {
	case float64:
		number = v
	case int:
		number = float64(v)
	case int64:
		number = float64(v)
	case json.Number:
		return parseNumber(string(v))
	case string:
		return parseNumber(v)
	default:
		return 0, false
	}
	return number, !math.IsNaN(number) && !math.IsInf(number, 0)
}

// parseNumber takes decimal numbers only: no hexadecimal, no underscores, no names.
func parseNumber(text string) (float64, bool) {
	if text == "" || len(text) > 64 || strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && !math.IsInf(number, 0)
}

// toInteger reads a whole number. Text must be digits with an optional minus sign, and zeros behind a point, for that is how forms carry the
// 4.0 of a language with floats; a JSON number may be written as 4.0 or 4e0, for many encoders write it so.
func toInteger(value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return wholeNumber(v)
	case json.Number:
		if whole, ok := parseInteger(string(v)); ok {
			return whole, true
		}
		number, ok := parseNumber(string(v))
		if !ok {
			return 0, false
		}
		return wholeNumber(number)
	case string:
		if whole, zeros, found := strings.Cut(v, "."); found && whole != "" && zeros != "" && strings.Trim(zeros, "0") == "" {
			return parseInteger(whole)
		}
		return parseInteger(v)
	}
	return 0, false
}

func parseInteger(text string) (int64, bool) {
	if strings.HasPrefix(text, "+") || len(text) > 64 {
		return 0, false
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	return whole, err == nil
}

func wholeNumber(number float64) (int64, bool) {
	if math.IsNaN(number) || math.Abs(number) >= exactMax || number != math.Trunc(number) {
		return 0, false
	}
	return int64(number), true
}

// isNull reports whether a field means "not given": null itself, or the text that forms send for it.
func isNull(value any) bool {
	text, isText := value.(string)
	return value == nil || isText && text == "null"
}
