package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisKeys are the names of all keys of the stack, sorted, with those of asynq, whose queues have names of their own.
func (s *stack) redisKeys(t testing.TB) []string {
	t.Helper()
	keys := redisDo(t, "KEYS", s.prefix+"[:{]*")
	slices.Sort(keys)
	return keys
}

// redisDo sends one command to the suite's Redis and answers the strings of its reply.
func redisDo(t testing.TB, words ...string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", redisAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(waitMax))
	command := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		command += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, command); err != nil {
		t.Fatal(err)
	}
	out, err := redisReply(bufio.NewReader(conn))
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return out
}

// redisReply reads a reply and flattens it.
func redisReply(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+', ':':
		return []string{line[1:]}, nil
	case '-':
		return nil, fmt.Errorf("redis: %s", line[1:])
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return nil, err
	}
	if line[0] == '$' {
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return []string{string(text[:n])}, err
	}
	var out []string
	for range n {
		more, err := redisReply(r)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}
