package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ConfigName is the file that describes a model, beside its weights.
const ConfigName = "config.json"

// configBytesMax bounds such a file.
const configBytesMax = 1 << 20

// Config is the text of a config.json, each of its values still unread.
type Config struct {
	path   string
	fields map[string]json.RawMessage
}

// ReadConfig reads a JSON object of at most 1 MiB. The error wraps ErrConfig, or is the file
// system's.
func ReadConfig(path string) (Config, error) {
	text, err := readSmall(path, configBytesMax)
	var format *FormatError
	if errors.As(err, &format) {
		return Config{}, configError(path, "%s", format.Reason)
	}
	if err != nil {
		return Config{}, err
	}
	return parseConfig(path, text)
}

func parseConfig(path string, text []byte) (Config, error) {
	c := Config{path, map[string]json.RawMessage{}}
	err := strictObject(text, func(key string, d *json.Decoder) error {
		var v json.RawMessage
		err := d.Decode(&v)
		c.fields[key] = v
		return err
	})
	if err != nil {
		return Config{}, configError(path, "%v", err)
	}
	return c, nil
}

// Path is where the file lies.
func (c Config) Path() string { return c.path }

// Class is what the model calls itself: _class_name, or the first of architectures.
func (c Config) Class() string {
	var class string
	var all []string
	if json.Unmarshal(c.fields["_class_name"], &class) == nil && class != "" {
		return class
	}
	if json.Unmarshal(c.fields["architectures"], &all) == nil && len(all) > 0 {
		return all[0]
	}
	return ""
}

// has says whether there is a value that is not null.
func (c Config) has(key string) bool {
	v, ok := c.fields[key]
	return ok && string(v) != "null"
}

// reader takes values out of a configuration and keeps the first thing that is wrong.
type reader struct {
	Config
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = configError(r.path, format, args...)
	}
}

// integer reads a whole number from low to high under the first of the keys that is there;
// without any, the value is absent, and is refused where that is out of range.
func (r *reader) integer(low, high, absent int, keys ...string) int {
	v := absent
	for _, key := range keys {
		if !r.has(key) {
			continue
		}
		n, err := strconv.Atoi(string(r.fields[key]))
		if err != nil {
			r.fail("%s is no whole number: %.40s", key, r.fields[key])
			return low
		}
		v = n
		break
	}
	if v < low || v > high {
		r.fail("%s is %d; it goes from %d to %d", keys[0], v, low, high)
		return low
	}
	return v
}

// number reads a finite number from low to high.
func (r *reader) number(low, high, absent float64, key string) float64 {
	v := absent
	if r.has(key) {
		if err := json.Unmarshal(r.fields[key], &v); err != nil || math.IsInf(v, 0) {
			r.fail("%s is no number: %.40s", key, r.fields[key])
			return low
		}
	}
	if v < low || v > high {
		r.fail("%s is %g; it goes from %g to %g", key, v, low, high)
		return low
	}
	return v
}

// text reads a string.
func (r *reader) text(absent, key string) string {
	v := absent
	if r.has(key) && json.Unmarshal(r.fields[key], &v) != nil {
		r.fail("%s is no text: %.40s", key, r.fields[key])
	}
	return v
}

// flag reads a truth value; false where there is none.
func (r *reader) flag(key string) bool {
	v := false
	if r.has(key) && json.Unmarshal(r.fields[key], &v) != nil {
		r.fail("%s is neither true nor false: %.40s", key, r.fields[key])
	}
	return v
}

// values reads a list of low to high values; absent where the key is not there.
func values[T any](r *reader, low, high int, absent []T, key string) []T {
	if !r.has(key) {
		return absent
	}
	var v []T
	if err := json.Unmarshal(r.fields[key], &v); err != nil {
		r.fail("%s is no list of that kind: %.40s", key, r.fields[key])
		return absent
	}
	if len(v) < low || len(v) > high {
		r.fail("%s has %d values; it has %d to %d", key, len(v), low, high)
		return absent
	}
	return v
}

// want refuses a choice that no model here was built for.
func (r *reader) want(key string, allowed ...string) {
	if !r.has(key) {
		return
	}
	for _, a := range allowed {
		if string(r.fields[key]) == a {
			return
		}
	}
	r.fail("%s is %.40s; %s are known", key, r.fields[key], fmt.Sprint(allowed))
}
