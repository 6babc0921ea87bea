package umt5

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestBucketsAreThoseOfTheReference(t *testing.T) {
	data, err := os.ReadFile("testdata/buckets.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]int
	if err := json.Unmarshal(data, &want); err != nil || len(want) != 1202 {
		t.Fatalf("%d places: %v", len(want), err)
	}
	for _, c := range [][2]int{{32, 128}, {8, 20}} {
		for behind := -300; behind <= 300; behind++ {
			if got, w := bucket(behind, c[0], c[1]), want[fmt.Sprintf("%d,%d,%d", c[0], c[1], behind)]; got != w {
				t.Errorf("%v: a key %d tokens behind is in bucket %d, want %d", c, behind, got, w)
			}
		}
	}
}
