package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

const envPrefix = "TELEFUSER_"

// fileEnv names the YAML file when no flag does.
const fileEnv = envPrefix + "CONFIG"

// outside are the variables with our prefix that are no settings: they belong to the test bench and to later rooms.
var outside = []string{fileEnv, envPrefix + "TOOLS", envPrefix + "MODELS"}

// ErrInvalid is what every mistake in a setting wraps.
var ErrInvalid = errors.New("config: invalid setting")

// Load puts together base (Default, or what a command starts from), the YAML file at path (none when empty; TELEFUSER_CONFIG may name it), the environment and
// the flags that were given, by flag name; the later wins. Unknown keys and variables are refused, so that a slip of the pen is not a silent default.
func Load(base Config, path string, environ []string, flags map[string]string) (Config, error) {
	c := base
	env := variables(environ)
	if path == "" {
		path = env[fileEnv]
	}
	fields := Fields()
	if err := fromFile(&c, path, fields); err != nil {
		return Config{}, err
	}
	if err := fromEnv(&c, env, fields); err != nil {
		return Config{}, err
	}
	for _, f := range fields {
		if s, ok := flags[f.Flag]; ok {
			if err := set(&c, f, s); err != nil {
				return Config{}, fmt.Errorf("%w: --%s: %w", ErrInvalid, f.Flag, err)
			}
		}
	}
	if err := readSecretFiles(&c); err != nil {
		return Config{}, err
	}
	return c, c.Validate()
}

// Environ is the process's environment; nobody else reads it.
func Environ() []string { return os.Environ() }

func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, envPrefix) {
			env[k] = v
		}
	}
	return env
}

func fromFile(c *Config, path string, fields []Field) error {
	if path == "" {
		return nil
	}
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return fmt.Errorf("%w: file %s: %w", ErrInvalid, path, err)
	}
	for _, key := range k.Keys() {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
		if i < 0 {
			return fmt.Errorf("%w: file %s: unknown key %q", ErrInvalid, path, key)
		}
		s := k.String(key)
		if list := k.Strings(key); len(list) > 0 {
			s = strings.Join(list, ",")
		}
		if err := set(c, fields[i], s); err != nil {
			return fmt.Errorf("%w: file %s: %s: %w", ErrInvalid, path, key, err)
		}
	}
	return nil
}

func fromEnv(c *Config, env map[string]string, fields []Field) error {
	for name, s := range env {
		if slices.Contains(outside, name) {
			continue
		}
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Env == name })
		if i < 0 {
			return fmt.Errorf("%w: unknown variable %s", ErrInvalid, name)
		}
		if err := set(c, fields[i], s); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
		}
	}
	return nil
}

// set parses s into the field's type. The messages never hold s itself, which may be a secret.
func set(c *Config, f Field, s string) error {
	v := reflect.ValueOf(c).Elem().FieldByIndex(f.index)
	switch v.Interface().(type) {
	case string:
		v.SetString(s)
	case []string:
		var list []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		v.Set(reflect.ValueOf(list))
	case bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("want true or false")
		}
		v.SetBool(b)
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("want a whole number")
		}
		v.SetInt(int64(n))
	case time.Duration:
		if _, err := strconv.ParseFloat(s, 64); err == nil && f.bare != "" {
			s += f.bare
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return errors.New("want a duration such as 30s, 10m or 24h")
		}
		v.SetInt(int64(d))
	default:
		return fmt.Errorf("no parser for %s", v.Type())
	}
	return nil
}
