package devstack

import (
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// miniRedisTick is how often the embedded Redis's clock is moved on. Its expiries stand still without it.
const miniRedisTick = time.Second

// MiniRedis is a Redis inside this process, for machines without redis-server. It forgets everything when it ends.
type MiniRedis struct {
	// Addr is its loopback address.
	Addr string

	server *miniredis.Miniredis
	stop   chan struct{}
	done   chan struct{}
}

// StartMiniRedis starts one on a random loopback port.
func StartMiniRedis() (*MiniRedis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("devstack: embedded redis: %w", err)
	}
	m := &MiniRedis{Addr: server.Addr(), server: server, stop: make(chan struct{}), done: make(chan struct{})}
	go m.tick()
	return m, nil
}

// Stop ends it.
func (m *MiniRedis) Stop() {
	close(m.stop)
	<-m.done
	m.server.Close()
}

func (m *MiniRedis) tick() {
	defer close(m.done)
	ticker := time.NewTicker(miniRedisTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.server.FastForward(miniRedisTick)
		case <-m.stop:
			return
		}
	}
}
