package outboundtest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// DNS is a name server on a loopback port. Each name has a list of answers, which it gives one after the other and then the last for ever: the way of a server that
// says one thing to a check and another to the call after it.
type DNS struct {
	conn net.PacketConn
	mu   sync.Mutex
	says map[string][]netip.Addr
}

// The types of a question, and the codes of an answer.
const (
	typeA, typeAAAA     = 1, 28
	flagsAnswer         = 0x8400
	codeNoSuchName      = 3
	headerBytes         = 12
	questionTailBytes   = 4
	pointerToTheName    = 0xc00c
	classInternet       = 1
	messageBytesMax     = 512
	answerFixedBytes    = 12
	answerLengthOffset  = 10
	questionCountOffset = 4
)

// NewDNS starts a name server that ends with the test.
func NewDNS(t testing.TB) *DNS {
	t.Helper()
	var config net.ListenConfig
	conn, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &DNS{conn: conn, says: map[string][]netip.Addr{}}
	done := make(chan struct{})
	go func() { defer close(done); d.serve() }()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return d
}

// Say sets the answers of a name.
func (d *DNS) Say(name string, answers ...netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.says[strings.ToLower(strings.TrimSuffix(name, "."))] = answers
}

// Resolver asks this server alone.
func (d *DNS) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp", d.conn.LocalAddr().String())
	}}
}

func (d *DNS) serve() {
	buf := make([]byte, messageBytesMax)
	for {
		n, from, err := d.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := d.answer(buf[:n]); answer != nil {
			_, _ = d.conn.WriteTo(answer, from)
		}
	}
}

// answer makes the answer to a message of one question.
func (d *DNS) answer(question []byte) []byte {
	if len(question) < headerBytes {
		return nil
	}
	var labels []string
	at := headerBytes
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end > len(question) {
			return nil
		}
		labels = append(labels, string(question[at+1:end]))
		at = end
	}
	at++
	if at+questionTailBytes > len(question) {
		return nil
	}
	addr, known := d.next(strings.Join(labels, "."), binary.BigEndian.Uint16(question[at:]))
	out := append([]byte{}, question[:at+questionTailBytes]...)
	flags := uint16(flagsAnswer)
	if !known {
		flags |= codeNoSuchName
	}
	binary.BigEndian.PutUint16(out[2:], flags)
	copy(out[questionCountOffset:headerBytes], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if !addr.IsValid() {
		return out
	}
	raw := addr.AsSlice()
	row := make([]byte, answerFixedBytes, answerFixedBytes+len(raw))
	binary.BigEndian.PutUint16(row, pointerToTheName)
	copy(row[2:], question[at:at+2])
	binary.BigEndian.PutUint16(row[4:], classInternet) // the time to live stays 0
	binary.BigEndian.PutUint16(row[answerLengthOffset:], uint16(len(raw)))
	out[7] = 1
	return append(out, append(row, raw...)...)
}

// next is the answer whose turn it is; none where the name has no address of the asked kind. A question for A moves on when the answer is of IPv4, one for AAAA when it is of IPv6.
func (d *DNS) next(name string, kind uint16) (addr netip.Addr, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, known := d.says[strings.ToLower(name)]
	if len(list) == 0 {
		return netip.Addr{}, known
	}
	addr = list[0]
	if addr.Is4() != (kind == typeA) || kind != typeA && kind != typeAAAA {
		return netip.Addr{}, true
	}
	if len(list) > 1 {
		d.says[strings.ToLower(name)] = list[1:]
	}
	return addr, true
}
