package streaming

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// loadScripts reads the files that are built in: the only writers of records. Each is one script; common.lua stands before each.
func loadScripts() (map[string]*redis.Script, error) {
	common, err := luaFiles.ReadFile("lua/common.lua")
	if err != nil {
		return nil, fmt.Errorf("streaming: scripts: %w", err)
	}
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		return nil, fmt.Errorf("streaming: scripts: %w", err)
	}
	scripts := map[string]*redis.Script{}
	for _, file := range files {
		body, err := luaFiles.ReadFile("lua/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("streaming: scripts: %w", err)
		}
		scripts[strings.TrimSuffix(file.Name(), ".lua")] = redis.NewScript(string(common) + string(body))
	}
	return scripts, nil
}

// eval runs a script with the prefix as its only key and translates its error.
func (s *Store) eval(ctx context.Context, name string, args ...any) (any, error) {
	answer, err := s.scripts[name].Run(ctx, s.rdb, []string{s.cfg.Prefix}, args...).Result()
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
		return nil, fmt.Errorf("streaming: %s: answered a %T: %w", name, answer, ErrUnavailable)
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
		return "", fmt.Errorf("streaming: %s: answered a %T: %w", name, answer, ErrUnavailable)
	}
	return word, nil
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
func number(list []any, i int) int {
	if i >= len(list) {
		return 0
	}
	n, _ := list[i].(int64)
	return int(n)
}

// sublist reads the i-th element of a script's answer as a list.
func sublist(list []any, i int) []any {
	if i >= len(list) {
		return nil
	}
	sub, _ := list[i].([]any)
	return sub
}

// ms is a duration as scripts take it.
func ms(d time.Duration) int64 { return d.Milliseconds() }
