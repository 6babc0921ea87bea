package api_test

import (
	"slices"
	"testing"

	"telefuser/api"
)

// FuzzBatchFile reads any bytes as a batch's file: a line is a request or has a mistake, and who goes on behind one finds what comes after it.
func FuzzBatchFile(f *testing.F) {
	good := batchLine("one", `{"prompt":"a"}`)
	for _, seed := range []string{"", "\n\n \r\n", good, good + "\r\n\n" + batchLine("two", `{}`), "{", "null", "[]", `{"custom_id":"a"}`, `{"custom_id":"` + "\x00" + `"}`, good + "\n" + good[:20], "\xef\xbb\xbf" + good,
		`{"custom_id":"a","custom_id":"b","method":"POST","url":"/v1/videos","body":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := api.BatchLines(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for i, line := range lines {
			if (line.CustomID == "") == (line.Wrong == "") || len(line.CustomID) > 512 || line.Next <= at || line.Next > int64(len(text)) {
				t.Fatalf("line %d: %+v behind %d", i, line, at)
			}
			at = line.Next
			rest, err := api.BatchLines(text, at)
			if err != nil || !slices.Equal(rest, lines[i+1:]) {
				t.Fatalf("behind line %d: %+v, %v, want %+v", i, rest, err, lines[i+1:])
			}
			if i > 20 { // the rest is alike
				return
			}
		}
	})
}
