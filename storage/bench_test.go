package storage_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"telefuser/internal/devstack"
	"telefuser/storage"
)

// eachStore runs a benchmark on both drivers.
func eachStore(b *testing.B, run func(b *testing.B, s storage.Store)) {
	b.Run("file", func(b *testing.B) {
		s, err := storage.NewFile(storage.FileConfig{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		run(b, s)
	})
	b.Run("s3", func(b *testing.B) {
		gw, err := devstack.StartVersityGW(b.Context(), b.TempDir())
		if err != nil {
			b.Skip(err)
		}
		b.Cleanup(gw.Stop)
		if err := gw.AddBucket(bucket); err != nil {
			b.Fatal(err)
		}
		s, err := storage.NewS3(b.Context(), storage.S3Config{
			Endpoint: gw.Endpoint, Bucket: bucket, AccessKey: gw.AccessKey, SecretKey: gw.SecretKey, PathStyle: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		run(b, s)
	})
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{4 << 10, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			eachStore(b, func(b *testing.B, s storage.Store) {
				data := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n++
					key := fmt.Sprintf("videos/v%d/1.mp4", n)
					if _, err := s.Put(b.Context(), key, bytes.NewReader(data), storage.PutOptions{SizeBytes: -1}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{4 << 10, 20 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			eachStore(b, func(b *testing.B, s storage.Store) {
				if _, err := s.Put(b.Context(), "k", bytes.NewReader(make([]byte, size)), storage.PutOptions{SizeBytes: -1}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
				for b.Loop() {
					r, _, err := s.Open(b.Context(), "k", 0, -1)
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, r); n != int64(size) || err != nil {
						b.Fatal(n, err)
					}
					r.Close()
				}
			})
		})
	}
}
