package bench

import (
	"fmt"
	"math/rand/v2"
)

// The kinds of request.
const (
	KindPost = "post"
	KindGet  = "get"
	KindList = "list"
)

// Source makes the requests of a run. Request i is always the same one, whoever asks.
type Source struct {
	// Kinds names the kinds of request that it makes.
	Kinds []string
	// request appends encoded request i to buf and answers its kind as a place in Kinds. It is called by many goroutines.
	request func(i int, buf []byte) (int, []byte)
}

// seed makes the choice of ids the same in every run.
const seed = 1

// pick answers a place in 0..n-1 that looks random and depends on i alone.
func pick(i, n int) int { return rand.New(rand.NewPCG(seed, uint64(i))).IntN(n) }

// Posts creates the same video over and over.
func Posts(t Target, body []byte) (Source, error) {
	head, err := t.head()
	if err != nil {
		return Source{}, err
	}
	request := encodePost(head, "/v1/videos", body)
	return Source{Kinds: []string{KindPost}, request: func(_ int, buf []byte) (int, []byte) { return 0, append(buf, request...) }}, nil
}

// Gets reads one video at a time, chosen evenly among ids.
func Gets(t Target, ids []string) (Source, error) {
	head, err := t.head()
	if err != nil {
		return Source{}, err
	}
	if len(ids) == 0 {
		return Source{}, fmt.Errorf("%w: no ids to read", ErrPlan)
	}
	return Source{Kinds: []string{KindGet}, request: func(i int, buf []byte) (int, []byte) {
		return 0, appendGet(buf, head, "/v1/videos/", ids[pick(i, len(ids))])
	}}, nil
}

// Lists reads pages of limit videos, each after a video chosen evenly among ids; without ids, the newest page.
func Lists(t Target, limit int, ids []string) (Source, error) {
	head, err := t.head()
	if err != nil {
		return Source{}, err
	}
	path := fmt.Sprintf("/v1/videos?limit=%d", limit)
	return Source{Kinds: []string{KindList}, request: func(i int, buf []byte) (int, []byte) {
		if len(ids) == 0 {
			return 0, appendGet(buf, head, path)
		}
		return 0, appendGet(buf, head, path, "&after=", ids[pick(i, len(ids))])
	}}, nil
}

// Share is one part of a mix.
type Share struct {
	Source Source
	// Weight is how many of each round of requests it gets.
	Weight int
}

// Mix takes turns: in each round every share gets its weight.
func Mix(shares ...Share) (Source, error) {
	var mix Source
	type turn struct {
		source    Source
		firstKind int
	}
	var round []turn
	for _, s := range shares {
		if s.Weight < 1 || s.Source.request == nil {
			return Source{}, fmt.Errorf("%w: a share of weight %d", ErrPlan, s.Weight)
		}
		for range s.Weight {
			round = append(round, turn{s.Source, len(mix.Kinds)})
		}
		mix.Kinds = append(mix.Kinds, s.Source.Kinds...)
	}
	if len(round) == 0 {
		return Source{}, fmt.Errorf("%w: an empty mix", ErrPlan)
	}
	// Shuffled once, so that the rare kinds do not come in bunches.
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
	mix.request = func(i int, buf []byte) (int, []byte) {
		t := round[i%len(round)]
		kind, buf := t.source.request(i, buf)
		return t.firstKind + kind, buf
	}
	return mix, nil
}
