package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"telefuser/api"
)

func FuzzURLEncoded(f *testing.F) {
	for _, seed := range []string{"prompt=a&model=terrain", "a[b]=1&a[c]=2", "a[]=1&a[]=2", "prompt=%zz", "a=1;b=2", "prompt=%00", "camera=%5B%7B%7D%5D", "a=1&a[b]=2", "&&=", "+=+"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		values, err := api.DecodeURLEncoded(body)
		if err != nil && api.StatusOf(err) != 400 {
			t.Fatalf("%q: status %d: %v", body, api.StatusOf(err), err)
		}
		checkTree(t, values, 0)
	})
}

func FuzzFieldName(f *testing.F) {
	for _, seed := range []string{"prompt", "a[b]", "a[b][c]", "a[]", "a[0][]", "[", "a[", "a]", "a[b]c", "a[[b]]", "猫[犬]", strings.Repeat("a[b]", 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		steps, err := api.ParseName(name)
		if err != nil {
			if api.StatusOf(err) != 400 {
				t.Fatalf("%q: status %d", name, api.StatusOf(err))
			}
			return
		}
		whole := steps[0]
		for _, step := range steps[1:] {
			whole += "[" + step + "]"
		}
		if whole != name || steps[0] == "" || len(steps) > 32 {
			t.Fatalf("%q became %q", name, steps)
		}
	})
}

func FuzzLastEventID(f *testing.F) {
	for _, seed := range []string{"", "0", "1", "-1", "+1", "007", "9223372036854775807", "9223372036854775808", "1e3", "0x1", " 1", "１"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen, err := api.LastEventID(text)
		switch {
		case err != nil && api.StatusOf(err) != 400:
			t.Fatalf("%q: status %d", text, api.StatusOf(err))
		case err == nil && (text == "") != (seen == -1), err == nil && text != "" && strings.TrimLeft(text, "+0") != strings.TrimLeft(strconv.FormatInt(seen, 10), "0"):
			t.Fatalf("%q is %d", text, seen)
		}
	})
}

func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"Bearer tf_abc", "bearer a", "Bearer", "Bearer ", "Bearer  a", "Bearer\ta", "Basic a", "Bearer a b", "Bearer a,b", "Bearer " + strings.Repeat("k", 600)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := api.Bearer(header)
		if ok && (token == "" || len(token) > 512 || !strings.HasSuffix(header, " "+token) || strings.ContainsAny(token, " \t\r\n\x00,:{}*\"")) {
			t.Fatalf("%q: %q", header, token)
		}
	})
}

func FuzzFilename(f *testing.F) {
	for _, seed := range []string{"a.png", "../../etc/passwd", `C:\a\b.png`, "a\r\nX: b", "猫.png", `a"b`, ".", "/", "", strings.Repeat("n", 300), "a\x00b", "a;b=c", "%2e%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean := api.CleanFilename(name)
		if strings.ContainsAny(clean, "/\\\x00\r\n\x7f") || clean == "." || utf8.RuneCountInString(clean) > 255 || !utf8.ValidString(clean) {
			t.Fatalf("%q became %q", name, clean)
		}
		header := api.Disposition("attachment", clean)
		if strings.ContainsAny(header, "\r\n\x00") {
			t.Fatalf("%q: the header %q", name, header)
		}
		if kind, _, err := mime.ParseMediaType(header); err != nil || kind != "attachment" {
			t.Fatalf("%q: the header %q is no disposition: %v", name, header, err)
		}
	})
}

func FuzzRequestID(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "\x1b[31m", "req-1.2_3", strings.Repeat("a", 65), "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		id := api.RequestID(given)
		if id == "" || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			t.Fatalf("%q became %q", given, id)
		}
	})
}

// FuzzRefusal looks at everything that a connection writes: nothing but a refusal is replaced, and by nothing but an answer in the envelope.
func FuzzRefusal(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request", "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 431 x\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n\xff\r\n", "HTTP/1.1 ", "HTTP/1.1 4",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		answer := api.EnvelopeOf(p)
		if answer == nil {
			return
		}
		status, err := strconv.Atoi(string(p[9:12]))
		if err != nil || status < 400 {
			t.Fatalf("%q was replaced by %q", p, answer)
		}
		head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
		if !json.Valid(body) || !bytes.Contains(head, []byte("\r\nContent-Length: "+strconv.Itoa(len(body)))) {
			t.Fatalf("%q was replaced by %q", p, answer)
		}
		if line, _, _ := bytes.Cut(head, []byte("\r\n")); bytes.ContainsAny(line, "\n\x00") || status > 999 {
			return // net/http never writes such a line
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
		if err != nil {
			return
		}
		defer res.Body.Close()
		if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%q was replaced by %q", p, answer)
		}
	})
}
