package storage_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"telefuser/internal/devstack"
	"telefuser/storage"
	"telefuser/storage/storagetest"
)

const bucket = "artifacts"

func startGateway(t *testing.T) *devstack.S3Server {
	t.Helper()
	gw, err := devstack.StartVersityGW(t.Context(), t.TempDir())
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gw.Stop)
	if err := gw.AddBucket(bucket); err != nil {
		t.Fatal(err)
	}
	return gw
}

// openS3 opens a store of its own prefix on the gateway.
func openS3(t *testing.T, gw *devstack.S3Server, change ...func(*storage.S3Config)) *storage.S3 {
	t.Helper()
	cfg := storage.S3Config{
		Endpoint: gw.Endpoint, Region: devstack.S3Region, Bucket: bucket, Prefix: "p" + strings.ToLower(rand.Text()),
		AccessKey: gw.AccessKey, SecretKey: gw.SecretKey, PathStyle: true, SpoolDir: t.TempDir(),
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := storage.NewS3(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestS3DriverConforms(t *testing.T) {
	gw := startGateway(t)
	for _, checksums := range []string{storage.ChecksumsWhenSupported, storage.ChecksumsWhenRequired} {
		t.Run(checksums, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storage.Store {
				return openS3(t, gw, func(c *storage.S3Config) { c.Checksums = checksums })
			})
		})
	}
}
