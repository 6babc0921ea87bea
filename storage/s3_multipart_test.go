package storage_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/storage"
)

func TestS3DriverRestartsAPartAfterAReset(t *testing.T) {
	gw := startGateway(t)
	var resets atomic.Int32
	s := openS3(t, gw, proxy(t, gw, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" && resets.Add(1) == 1 {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			panic(http.ErrAbortHandler)
		}
		return false
	}))
	obj, err := s.Put(t.Context(), "k", bytes.NewReader(make([]byte, 20<<20)), storage.PutOptions{SizeBytes: -1})
	if err != nil || obj.SizeBytes != 20<<20 {
		t.Errorf("put: %+v, %v", obj, err)
	}
	if resets.Load() < 2 {
		t.Error("part 2 was not sent again: the test proves nothing")
	}
}

func TestS3DriverAbortsAMultipartUploadThatFails(t *testing.T) {
	gw := startGateway(t)
	s := openS3(t, gw, proxy(t, gw, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		return false
	}))
	_, err := s.Put(t.Context(), "k", bytes.NewReader(make([]byte, 20<<20)), storage.PutOptions{SizeBytes: -1})
	wantIs(t, err, storage.ErrUnavailable)
	if n, err := s.SweepBefore(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d uploads were left, %v", n, err)
	}
}

func TestS3DriverSweepsMultipartUploadsOfTheDead(t *testing.T) {
	gw := startGateway(t)
	s := openS3(t, gw, func(c *storage.S3Config) { c.Prefix = "ours" })
	other := openS3(t, gw, func(c *storage.S3Config) { c.Prefix = "theirs" })
	for range 3 {
		if err := s.BeginMultipart(t.Context(), "dead"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("young uploads were swept: %d, %v", n, err)
	}
	if n, err := other.SweepBefore(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("another prefix was swept: %d, %v", n, err)
	}
	if n, err := s.SweepBefore(t.Context(), time.Now().Add(time.Hour)); n != 3 || err != nil {
		t.Errorf("swept %d, %v, want 3", n, err)
	}
	if n, err := s.SweepBefore(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("again %d, %v", n, err)
	}
}

func TestS3DriverSignsAddresses(t *testing.T) {
	gw := startGateway(t)
	s := openS3(t, gw)
	if _, err := s.Put(t.Context(), "v/1.mp4", strings.NewReader("0123456789"), storage.PutOptions{SizeBytes: -1, ContentType: "video/mp4"}); err != nil {
		t.Fatal(err)
	}
	address, err := s.Sign(t.Context(), "v/1.mp4", storage.SignOptions{TTL: time.Minute, Filename: `my "clip".mp4`, ContentType: "video/x"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(address, gw.SecretKey) {
		t.Error("the secret is in the address")
	}
	res, body := fetch(t, address, "")
	if res.StatusCode != http.StatusOK || body != "0123456789" || res.Header.Get("Content-Type") != "video/x" {
		t.Errorf("%d %q %q", res.StatusCode, body, res.Header.Get("Content-Type"))
	}
	if got, want := res.Header.Get("Content-Disposition"), `attachment; filename="my \"clip\".mp4"`; got != want {
		t.Errorf("disposition %q, want %q", got, want)
	}
	if res, body := fetch(t, address, "bytes=2-4"); res.StatusCode != http.StatusPartialContent || body != "234" {
		t.Errorf("range: %d %q", res.StatusCode, body)
	}
	if res, _ := fetch(t, strings.Replace(address, "1.mp4", "2.mp4", 1), ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("a changed address: %d", res.StatusCode)
	}
	for _, ttl := range []time.Duration{0, time.Millisecond, 8 * 24 * time.Hour} {
		if _, err := s.Sign(t.Context(), "k", storage.SignOptions{TTL: ttl}); err == nil {
			t.Errorf("a TTL of %s was signed", ttl)
		}
	}
	public := openS3(t, gw, func(c *storage.S3Config) { c.PublicEndpoint = "https://cdn.example.org" })
	if address, err := public.Sign(t.Context(), "k", storage.SignOptions{TTL: time.Minute}); err != nil || !strings.HasPrefix(address, "https://cdn.example.org/") {
		t.Errorf("public address %q, %v", address, err)
	}
}

func fetch(t *testing.T, address, byteRange string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if byteRange != "" {
		req.Header.Set("Range", byteRange)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestS3ConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]storage.S3Config{
		"no bucket":        {},
		"half a key pair":  {Bucket: "b", AccessKey: "a"},
		"a bad prefix":     {Bucket: "b", Prefix: "../x"},
		"unknown checksum": {Bucket: "b", Checksums: "sometimes"},
		"no scheme":        {Bucket: "b", Endpoint: "localhost:9000"},
		"tiny parts":       {Bucket: "b", PartBytes: 1000},
	} {
		if _, err := storage.NewS3(t.Context(), cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
		if s, err := storage.New(t.Context(), storage.Config{Driver: storage.DriverS3, S3: cfg}); err == nil || s != nil {
			t.Errorf("%s: New answers %v, %v", name, s, err)
		}
	}
	if _, err := storage.New(t.Context(), storage.Config{Driver: "ftp"}); err == nil {
		t.Error("an unknown driver was taken")
	}
}
