package livekit

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"telefuser/workers/media"
)

// Config says where the media server is. A zero value takes the default in its comment.
type Config struct {
	// URL is what this program connects to, as ws, wss, http or https.
	URL string
	// PublicURL is what clients connect to: URL.
	PublicURL string
	// APIKey and APISecret are an account of the media server's.
	APIKey, APISecret string
	// TokenTTL is how long a token lets its holder in when nothing else is asked for: 10 min.
	TokenTTL time.Duration
	// CallTimeout bounds every call of the media server's: 5 s.
	CallTimeout time.Duration
	// ReconnectTimeout is how long a publisher that lost its connection tries to get it back before the room counts as lost: 5 s.
	ReconnectTimeout time.Duration
	// RoomEmptyTimeout closes a room that nobody ever entered, DepartureTimeout one that everybody left: 1 h, 2 min. They only catch what was forgotten:
	// a session's rooms are deleted with it.
	RoomEmptyTimeout, DepartureTimeout time.Duration
	// ParticipantsMax is how many may be in a room, publisher included: 100.
	ParticipantsMax int
	// EncoderThreads is how many cores one stream's frame may use: 1.
	EncoderThreads int
	// NewEncoder makes the encoder of one stream: libvpx.
	NewEncoder func(media.VP8Options) (Encoder, error)
	// Log takes what the media server's library has to say, at the debug level: nowhere.
	Log *slog.Logger
}

// Encoder turns the frames of one stream into VP8, one at a time.
type Encoder interface {
	// Encode answers a frame's bytes, and whether decoding can begin there, which forceKey asks for. pts grows from frame to frame.
	Encode(f media.Frame, pts time.Duration, forceKey bool) (data []byte, key bool, err error)
	// CPU is the processor time of all frames so far, 0 where that is not known.
	CPU() time.Duration
	// Close frees what it holds.
	Close()
}

// withDefaults fills what was left zero.
func (c Config) withDefaults() Config {
	if c.PublicURL == "" {
		c.PublicURL = c.URL
	}
	for d, to := range map[*time.Duration]time.Duration{
		&c.TokenTTL: 10 * time.Minute, &c.CallTimeout: 5 * time.Second, &c.ReconnectTimeout: 5 * time.Second,
		&c.RoomEmptyTimeout: time.Hour, &c.DepartureTimeout: 2 * time.Minute,
	} {
		if *d == 0 {
			*d = to
		}
	}
	for n, to := range map[*int]int{&c.ParticipantsMax: 100, &c.EncoderThreads: 1} {
		if *n == 0 {
			*n = to
		}
	}
	if c.NewEncoder == nil {
		c.NewEncoder = func(o media.VP8Options) (Encoder, error) { return media.NewVP8Encoder(o) }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// secretBytesMin is the shortest secret that cannot be guessed from a token. A media server on this machine alone may have a shorter one, as its development
// mode does.
const secretBytesMin = 32

// Validate checks the configuration with its defaults filled in and names every field at fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(wrong bool, field, rule string) {
		if wrong {
			errs = append(errs, fmt.Errorf("livekit: %s %s: %w", field, rule, ErrInvalid))
		}
	}
	bad(!isServerURL(c.URL), "URL", "must be ws://, wss://, http:// or https:// and a host")
	bad(!isServerURL(c.PublicURL), "PublicURL", "must be ws://, wss://, http:// or https:// and a host")
	bad(c.APIKey == "", "APIKey", "is missing")
	bad(c.APISecret == "" || len(c.APISecret) < secretBytesMin && !isLoopback(c.URL), "APISecret", fmt.Sprintf("must have %d characters or more", secretBytesMin))
	bad(c.TokenTTL < time.Second || c.TokenTTL > tokenTTLMax, "TokenTTL", "must be 1 s to 24 h")
	bad(c.CallTimeout < 10*time.Millisecond, "CallTimeout", "must be 10 ms or more")
	bad(c.ReconnectTimeout < 10*time.Millisecond, "ReconnectTimeout", "must be 10 ms or more")
	bad(c.RoomEmptyTimeout < time.Second, "RoomEmptyTimeout", "must be 1 s or more")
	bad(c.DepartureTimeout < time.Second, "DepartureTimeout", "must be 1 s or more")
	bad(c.ParticipantsMax < 2, "ParticipantsMax", "must be 2 or more")
	bad(c.EncoderThreads < 1, "EncoderThreads", "must be 1 or more")
	return errors.Join(errs...)
}

func isLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func isServerURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
		return true
	}
	return false
}
