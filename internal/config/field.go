package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Field is one setting as people meet it.
type Field struct {
	// Key is its name in the YAML file, Env its variable, Flag its flag.
	Key, Env, Flag string
	// Doc is its sentence, Default the text of its default value.
	Doc, Default string
	secret       string
	// bare is the unit of a duration that is written without one; empty where one must be written.
	bare  string
	index []int
}

// Fields lists every setting in the order of the struct.
func Fields() []Field {
	return collect(reflect.ValueOf(Default()), "", nil)
}

func collect(v reflect.Value, prefix string, index []int) []Field {
	var fields []Field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, at := prefix+f.Tag.Get("key"), append(append([]int{}, index...), i)
		if f.Type.Kind() == reflect.Struct {
			fields = append(fields, collect(v.Field(i), key+".", at)...)
			continue
		}
		flag := f.Tag.Get("flag")
		if flag == "" {
			flag = strings.NewReplacer(".", "-", "_", "-").Replace(key)
		}
		fields = append(fields, Field{
			Key: key, Env: envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_")), Flag: flag,
			Doc: f.Tag.Get("doc"), Default: text(v.Field(i)), secret: f.Tag.Get("secret"), bare: f.Tag.Get("bare"), index: at,
		})
	}
	return fields
}

// Value is the setting's text in c, with secrets masked.
func (f Field) Value(c Config) string {
	s := text(reflect.ValueOf(c).FieldByIndex(f.index))
	switch {
	case s == "" || f.secret == "":
		return s
	case f.secret == "url":
		return maskURL(s)
	default:
		return masked
	}
}

const masked = "********"

// maskURL hides the password of a URL, and the whole text when it is no URL.
func maskURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	u.User = url.UserPassword(u.User.Username(), "MASK")
	return strings.Replace(u.String(), ":MASK@", ":"+masked+"@", 1)
}

func text(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, ",")
	case time.Duration:
		return x.String()
	default:
		return fmt.Sprint(x)
	}
}
