package weights

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// strictObject reads one JSON object of valid UTF-8 and nothing after it but white space. each
// is called with every key, never twice with one, and decodes its value.
func strictObject(text []byte, each func(key string, d *json.Decoder) error) error {
	if !utf8.Valid(text) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := object(d, each); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something after the object")
	}
	return nil
}

// object reads one object of a stream, refusing a key that comes twice.
func object(d *json.Decoder, each func(key string, d *json.Decoder) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		key, _ := t.(string) // a key is always a string
		if seen[key] {
			return fmt.Errorf("%q comes twice", key)
		}
		seen[key] = true
		if err := each(key, d); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return nil
}
