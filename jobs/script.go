package jobs

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// freeing names the scripts that make room or let running jobs end, and so run even when Redis is full.
const freeing = " batch_cancel batch_keep batch_save batch_take cancel claim complete delete fail garbage head heartbeat hook_delete hook_settle hook_sweep hook_take lead place pulse reap remove requeue resign stage sweep time_out vanished "

// scripts are the only writers of records. Each file is one script; common.lua stands before each.
type scripts struct {
	plain map[string]*redis.Script
	// full are the freeing scripts marked as allowed when memory is full, which needs Redis 7.
	full map[string]*redis.Script
	// unmarked is set once a server has refused the mark.
	unmarked atomic.Bool
}

// loadScripts reads the files that are built in.
func loadScripts() (*scripts, error) {
	common, err := luaFiles.ReadFile("lua/common.lua")
	if err != nil {
		return nil, fmt.Errorf("jobs: scripts: %w", err)
	}
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		return nil, fmt.Errorf("jobs: scripts: %w", err)
	}
	sc := &scripts{plain: map[string]*redis.Script{}, full: map[string]*redis.Script{}}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".lua")
		if name == "common" {
			continue
		}
		body, err := luaFiles.ReadFile("lua/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("jobs: scripts: %w", err)
		}
		source := string(common) + string(body)
		sc.plain[name] = redis.NewScript(source)
		if strings.Contains(freeing, " "+name+" ") {
			sc.full[name] = redis.NewScript("#!lua flags=allow-oom\n" + source)
		}
	}
	return sc, nil
}

// eval runs a script with the prefix as its only key and translates its error.
func (s *Store) eval(ctx context.Context, name string, args ...any) (any, error) {
	keys := []string{s.cfg.Prefix}
	if marked := s.scripts.full[name]; marked != nil && !s.scripts.unmarked.Load() {
		answer, err := marked.Run(ctx, s.rdb, keys, args...).Result()
		switch {
		case err == nil:
			return answer, nil
		case !strings.Contains(err.Error(), "ompil"): // "Error compiling script": a server that does not know the mark
			return nil, unavailable(name, err)
		}
		s.scripts.unmarked.Store(true)
	}
	answer, err := s.scripts.plain[name].Run(ctx, s.rdb, keys, args...).Result()
	if err != nil {
		return nil, unavailable(name, err)
	}
	return answer, nil
}

// evalList runs a script that answers a list.
func (s *Store) evalList(ctx context.Context, name string, args ...any) ([]any, error) {
	answer, err := s.eval(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	list, ok := answer.([]any)
	if !ok {
		return nil, fmt.Errorf("jobs: %s: answered a %T: %w", name, answer, ErrUnavailable)
	}
	return list, nil
}

// evalWord runs a script that answers one word.
func (s *Store) evalWord(ctx context.Context, name string, args ...any) (string, error) {
	answer, err := s.eval(ctx, name, args...)
	if err != nil {
		return "", err
	}
	word, ok := answer.(string)
	if !ok {
		return "", fmt.Errorf("jobs: %s: answered a %T: %w", name, answer, ErrUnavailable)
	}
	return word, nil
}

// texts reads a list of strings; whatever is not one becomes "".
func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

// word reads the i-th element of a script's answer as text, "" when it is none.
func word(list []any, i int) string {
	if i >= len(list) {
		return ""
	}
	text, _ := list[i].(string)
	return text
}

// number reads the i-th element of a script's answer as a whole number, 0 when it is none.
func number(list []any, i int) int64 {
	if i >= len(list) {
		return 0
	}
	n, _ := list[i].(int64)
	return n
}

// fields reads the i-th element of a script's answer as the fields of a record.
func fields(list []any, i int) map[string]string {
	if i >= len(list) {
		return nil
	}
	flat, _ := list[i].([]any)
	return pairs(flat)
}

// pairs reads a flat list of names and values.
func pairs(flat []any) map[string]string {
	out := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		out[word(flat, i)] = word(flat, i+1)
	}
	return out
}
