package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// TestTLS lets the Go SDK speak to an API that has a certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, roots := certificate(t)
	dev := startDev(t, "--tls-cert", certFile, "--tls-key", keyFile)
	secure := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	videos := sdk(dev.url, "any", option.WithHTTPClient(secure)).Videos
	v, err := videos.NewAndPoll(t.Context(), newParams("behind TLS", nil), 50)
	if err != nil || v.Status != openai.VideoStatusCompleted {
		t.Errorf("by HTTPS: %v %v", v, err)
	}
	if _, err := newClient("http"+dev.url[len("https"):]).get(t.Context(), "video_x"); err == nil {
		t.Error("plain HTTP is answered")
	}
}

// certificate makes a certificate for loopback that signs itself.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return certFile, keyFile, roots
}

// TestFullQueue refuses what would not fit, with the time to wait, and takes jobs again when there is room.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true, apiArgs: []string{"--queued-max", "2"}})
	first := s.client.create(t, small("one"))
	s.client.create(t, small("two"))
	_, err := s.client.post(t.Context(), small("three"), nil)
	var answer *answerError
	if !errors.As(err, &answer) || answer.Status != http.StatusTooManyRequests || answer.Code != "queue_full" || answer.Header.Get("Retry-After") == "" {
		t.Errorf("a third job: %v", err)
	}
	if err := s.client.delete(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	s.client.create(t, small("three again"))
	if n := len(s.client.all(t, 100)); n != 2 {
		t.Errorf("%d jobs", n)
	}
	s.checkStore(nil)
}

// TestProfilesHaveAListenerOfTheirOwn finds profiles where they belong, and not at the API.
func TestProfilesHaveAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	dev := startDev(t, "--debug-addr", fmt.Sprintf("127.0.0.1:%d", port))
	if _, err := dev.client.call(t.Context(), http.MethodGet, "/debug/pprof/", nil, nil, nil); statusOf(err) != http.StatusNotFound {
		t.Errorf("at the API: %v", err)
	}
	debug := newClient(fmt.Sprintf("http://127.0.0.1:%d", port))
	res, err := debug.do(t.Context(), http.MethodGet, "/debug/pprof/goroutine?debug=1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("at the listener of its own: %d", res.StatusCode)
	}
}
