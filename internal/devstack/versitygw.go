package devstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// S3Region is the region that the gateway expects in signatures.
const S3Region = "us-east-1"

// S3Server is a versitygw child: an S3 service over a directory. Its methods are called from one goroutine at a time.
type S3Server struct {
	// Endpoint is its address, AccessKey and SecretKey its only account; all stay the same over Restart.
	Endpoint  string
	AccessKey string
	SecretKey string

	path, dir string
	port      int
	child     *child
}

// StartVersityGW starts the gateway over dir, which is made when it is missing, and returns when it answers. Buckets are folders of dir:
// AddBucket makes one. The file system must know extended attributes.
func StartVersityGW(ctx context.Context, dir string) (*S3Server, error) {
	path, err := LookTool("versitygw")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("devstack: s3 directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("devstack: s3 directory: %w", err)
	}
	s := &S3Server{AccessKey: "dev" + rand.Text()[:13], SecretKey: rand.Text(), path: path, dir: dir}
	err = withPort(0, func(port int) error {
		s.port, s.Endpoint = port, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return s.start(ctx)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AddBucket makes a bucket; one that exists already is kept.
func (s *S3Server) AddBucket(name string) error {
	if err := os.MkdirAll(filepath.Join(s.dir, name), 0o700); err != nil {
		return fmt.Errorf("devstack: bucket %s: %w", name, err)
	}
	return nil
}

// PID is the process id of the running server.
func (s *S3Server) PID() int { return s.child.cmd.Process.Pid }

// Stop ends it orderly.
func (s *S3Server) Stop() { s.child.stop() }

// Kill ends it as a crash would.
func (s *S3Server) Kill() { s.child.kill() }

// Restart starts it again after Stop or Kill, at the same address and with the same objects.
func (s *S3Server) Restart(ctx context.Context) error {
	<-s.child.done
	return s.start(ctx)
}

func (s *S3Server) start(ctx context.Context) error {
	// The secrets go through the environment because everybody on the machine can read arguments.
	env := []string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey}
	args := []string{"--quiet", "--region", S3Region, "--port", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), "posix", s.dir}
	c, err := startChild(s.path, args, env, s.dir)
	if err != nil {
		return err
	}
	if err := c.waitReady(ctx, s.answers); err != nil {
		c.kill()
		return err
	}
	s.child = c
	return nil
}

// answers is nil when the server says anything by HTTP; without a signature it says no.
func (s *S3Server) answers(ctx context.Context) error { return answersHTTP(ctx, s.Endpoint) }
