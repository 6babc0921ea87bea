package api_test

import (
	"slices"
	"testing"
)

// pageIDs reads one page and holds its envelope to its data.
func (s *stack) pageIDs(t *testing.T, query string) (ids []string, more bool) {
	t.Helper()
	list := s.request(t, "GET", "/v1/videos?"+query, nil).object(t, 200)
	data, _ := list["data"].([]any)
	for _, row := range data {
		id, _ := row.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	if len(ids) == 0 && (list["first_id"] != nil || list["last_id"] != nil || list["has_more"] != false) {
		t.Errorf("?%s: an empty page is %v", query, list)
	}
	if len(ids) > 0 && (list["first_id"] != ids[0] || list["last_id"] != ids[len(ids)-1]) {
		t.Errorf("?%s: first %v, last %v of %v", query, list["first_id"], list["last_id"], ids)
	}
	return ids, list["has_more"] == true
}

func TestListPages(t *testing.T) {
	s := newStack(t)
	if ids, more := s.pageIDs(t, ""); len(ids) != 0 || more {
		t.Errorf("the list of nothing is %v", ids)
	}
	var made []string
	for range 25 {
		made = append(made, s.create(t, map[string]any{"model": "terrain"})["id"].(string))
	}
	slices.Sort(made) // the order of the list is that of the ids: by time, and within a millisecond by chance
	ascending := slices.Clone(made)
	slices.Reverse(made)
	if ids, more := s.pageIDs(t, ""); !slices.Equal(ids, made[:20]) || !more {
		t.Errorf("the first page is %v", ids)
	}
	if ids, more := s.pageIDs(t, "limit=100&order=asc"); !slices.Equal(ids, ascending) || more {
		t.Errorf("all in ascending order are %v", ids)
	}
	if ids, more := s.pageIDs(t, "limit=0"); len(ids) != 0 || more {
		t.Errorf("no rows are %v", ids)
	}
	var walked []string
	for after, more := "", true; more; after = walked[len(walked)-1] {
		var ids []string
		ids, more = s.pageIDs(t, "limit=1&after="+after)
		walked = append(walked, ids...)
	}
	if !slices.Equal(walked, made) {
		t.Errorf("one by one they are %v", walked)
	}
	// The row under the cursor goes away between two pages, and so does the next one.
	page, _ := s.pageIDs(t, "limit=10")
	s.request(t, "DELETE", "/v1/videos/"+page[9], nil).object(t, 200)
	s.request(t, "DELETE", "/v1/videos/"+made[10], nil).object(t, 200)
	if ids, _ := s.pageIDs(t, "limit=10&after="+page[9]); !slices.Equal(ids, made[11:21]) {
		t.Errorf("the page behind a deleted cursor is %v, want %v", ids, made[11:21])
	}
	if ids, more := s.pageIDs(t, "limit=5&after="+made[24]); len(ids) != 0 || more {
		t.Errorf("behind the last there is %v", ids)
	}
}
