package jobs

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client is a connection pool to Redis. Other rooms pass it on and never call it.
type Client = redis.UniversalClient

// RedisConfig says where Redis is. Either URL or Addr is set, or Sentinels with MasterName. Redis Cluster is not supported.
type RedisConfig struct {
	// URL is redis://user:password@host:port/db, or rediss:// for TLS.
	URL string
	// Addr is host:port; Username, Password and DB go with it.
	Addr     string
	Username string
	Password string
	DB       int
	// TLS is used when it is not nil.
	TLS *tls.Config
	// Sentinels are the host:port of the sentinels that know MasterName.
	Sentinels        []string
	MasterName       string
	SentinelUsername string
	SentinelPassword string
	// PoolSize is the number of connections: 64.
	PoolSize int
	// ReplyTimeout bounds one write or one reply: 2 s. A call with all its tries is bounded too, by 3 s.
	ReplyTimeout time.Duration
}

// Connect makes the pool and asks Redis for one answer. When Redis is down it returns the pool and ErrUnavailable: the pool connects later by itself,
// so a caller that can wait keeps it, and one that cannot closes it.
func Connect(ctx context.Context, cfg RedisConfig) (Client, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	redis.SetLogger(silent{})
	client := redis.NewUniversalClient(opts)
	client.AddHook(callLimit{callTimeout})
	if err := client.Ping(ctx).Err(); err != nil {
		return client, unavailable("connect", err)
	}
	return client, nil
}

func (cfg RedisConfig) options() (*redis.UniversalOptions, error) {
	opts := &redis.UniversalOptions{
		Addrs: []string{cfg.Addr}, Username: cfg.Username, Password: cfg.Password, DB: cfg.DB, TLSConfig: cfg.TLS,
		ReadTimeout: cfg.ReplyTimeout, WriteTimeout: cfg.ReplyTimeout, DialTimeout: 2 * time.Second, PoolTimeout: 3 * time.Second,
		ContextTimeoutEnabled: true, MaxRetries: 2, PoolSize: cfg.PoolSize, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case cfg.URL != "":
		parsed, err := redis.ParseURL(cfg.URL)
		if err != nil {
			return nil, fmt.Errorf("jobs: the Redis URL cannot be read: %w", ErrInvalid) // the error's own text may hold the password
		}
		opts.Addrs, opts.Username, opts.Password, opts.DB = []string{parsed.Addr}, parsed.Username, parsed.Password, parsed.DB
		if parsed.TLSConfig != nil {
			opts.TLSConfig = parsed.TLSConfig
		}
	case len(cfg.Sentinels) > 0:
		if cfg.MasterName == "" {
			return nil, fmt.Errorf("jobs: sentinels need the master's name: %w", ErrInvalid)
		}
		opts.Addrs, opts.MasterName = cfg.Sentinels, cfg.MasterName
		opts.SentinelUsername, opts.SentinelPassword = cfg.SentinelUsername, cfg.SentinelPassword
	case cfg.Addr == "":
		return nil, fmt.Errorf("jobs: Redis needs a URL, an address or sentinels: %w", ErrInvalid)
	}
	if opts.ReadTimeout == 0 {
		opts.ReadTimeout, opts.WriteTimeout = 2*time.Second, 2*time.Second
	}
	if opts.PoolSize == 0 {
		opts.PoolSize = 64
	}
	return opts, nil
}

// silent drops the pool's own lines: each failed call is reported where it was made.
type silent struct{}

// Printf drops the line.
func (silent) Printf(context.Context, string, ...any) {}
