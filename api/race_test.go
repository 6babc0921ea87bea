package api_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/api"
	"telefuser/storage"
)

// TestDeleteRacesCompletion fires DELETE at the moment of completion. Either way the video is gone for ever, and nothing of it is left that
// a rebuild could find.
func TestDeleteRacesCompletion(t *testing.T) {
	s := newStack(t)
	hold := make(chan struct{})
	s.work(t, finisher{hold: hold})
	for range 100 {
		id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
		s.await(t, id, "in_progress")
		var both sync.WaitGroup
		both.Go(func() {
			select {
			case hold <- struct{}{}:
			case <-time.After(100 * time.Millisecond): // the run was told to stop first
			}
		})
		both.Go(func() { s.request(t, "DELETE", "/v1/videos/"+id, nil).object(t, 200) })
		both.Wait()
		s.request(t, "GET", "/v1/videos/"+id, nil).problem(t, 404)
		s.request(t, "GET", "/v1/videos/"+id+"/content", nil).problem(t, 404)
	}
	if list := s.request(t, "GET", "/v1/videos", nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("deleted videos are back: %v", list)
	}
}

// TestTwoServersAreOne works on one node with what another made.
func TestTwoServersAreOne(t *testing.T) {
	prefix := fmt.Sprintf("two%d", prefixes.Add(1))
	a := newStack(t, func(in *setup) { in.jobs.Prefix = prefix })
	b := newStack(t, func(in *setup) { in.jobs.Prefix, in.deps.Store = prefix, a.store })
	a.work(t, finisher{})
	id := a.create(t, map[string]any{"model": "terrain"})["id"].(string)
	if v := b.request(t, "GET", "/v1/videos/"+id, nil).object(t, 200); v["id"] != id {
		t.Errorf("the other node has %v", v)
	}
	b.await(t, id, "completed")
	if r := b.request(t, "GET", "/v1/videos/"+id+"/content", nil); r.status != 200 || !bytes.Equal(r.body, tinyClip(t)) {
		t.Errorf("content on the other node: %d", r.status)
	}
	if ids, _ := b.pageIDs(t, ""); len(ids) != 1 {
		t.Errorf("the list on the other node: %v", ids)
	}
	b.request(t, "DELETE", "/v1/videos/"+id, nil).object(t, 200)
	a.request(t, "GET", "/v1/videos/"+id, nil).problem(t, 404)
}

// TestExpiryTakesRecordAndContentTogether because a video that says completed must be downloadable.
func TestExpiryTakesRecordAndContentTogether(t *testing.T) {
	s := newStack(t, func(in *setup) { in.jobs.RetentionTTL = 300 * time.Millisecond })
	s.work(t, finisher{})
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	eventually(t, "the video is gone", func() bool { return s.request(t, "GET", "/v1/videos/"+id, nil).status == 404 })
	s.request(t, "GET", "/v1/videos/"+id+"/content", nil).problem(t, 404)
	if ids, _ := s.pageIDs(t, ""); len(ids) != 0 {
		t.Errorf("the list still has %v", ids)
	}
}

// TestLoadGenerator does what a load generator is known to do: numbers for text, one request id for all, polling at once and often, and JSON
// alone in Accept even for the download.
func TestLoadGenerator(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	picture := testPNG(t, 832, 480)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			id := fmt.Sprintf("run-%d", i)
			headers := []string{"User-Agent", "aiperf/0.13", "X-Request-ID", id, "X-Correlation-ID", id, "Accept", "application/json"}
			var v map[string]any
			if i%2 == 0 {
				v = s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "model": "terrain", "seconds": 4, "size": "832x480", "seed": 42, "fps": 16}, headers...).object(t, 200)
			} else {
				body := strings.NewReader(form(field("prompt", "a"), field("model", "terrain"), field("seconds", "4"), field("size", "832x480"), file("input_reference", "a.png", "image/png", picture)))
				v = s.request(t, "POST", "/v1/videos", body, append(headers, "Content-Type", "multipart/form-data; boundary="+boundary)...).object(t, 200)
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for deadline := time.Now().Add(waitMax); v["status"] != "completed" && time.Now().Before(deadline); <-tick.C {
				r := s.request(t, "GET", "/v1/videos/"+v["id"].(string), nil, headers...)
				if r.header.Get("X-Request-Id") != id {
					t.Errorf("the request id came back as %q", r.header.Get("X-Request-Id"))
				}
				v = r.object(t, 200)
			}
			r := s.request(t, "GET", "/v1/videos/"+v["id"].(string)+"/content", nil, headers...)
			if v["status"] != "completed" || v["seconds"] != "4" || r.status != 200 || r.header.Get("Content-Type") != "video/mp4" {
				t.Errorf("%v, download %d %s", v, r.status, r.header.Get("Content-Type"))
			}
		})
	}
	all.Wait()
}

// bombPNG says that it is huge and holds next to nothing.
func bombPNG(width, height uint32) []byte {
	chunk := func(name string, data []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		out = append(append(out, name...), data...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(head, 1, 0, 0, 0, 0))...)
	out = append(out, chunk("IDAT", []byte{0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01})...)
	return append(out, chunk("IEND", nil)...)
}

// TestBombsByEveryWay sends pictures that would fill the memory through each input that takes one.
func TestBombsByEveryWay(t *testing.T) {
	s := newStack(t)
	for _, bomb := range [][]byte{bombPNG(30000, 30000), bombPNG(8193, 1), bombPNG(1<<31-1, 1<<31-1), bombPNG(0, 0)} {
		f := s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "a.png", "", bomb)).object(t, 200)
		for name, r := range map[string]reply{
			"file":        s.postForm(t, "/v1/videos", field("prompt", "a"), file("input_reference", "a.png", "", bomb)),
			"data URL":    s.postForm(t, "/v1/videos", field("prompt", "a"), field("input_reference", dataURL(bomb))),
			"brackets":    s.postForm(t, "/v1/videos", field("prompt", "a"), field("input_reference[image_url]", dataURL(bomb))),
			"extra":       s.postForm(t, "/v1/videos", field("prompt", "a"), field("extra_body[input_reference][image_url]", dataURL(bomb))),
			"JSON":        s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "input_reference": map[string]string{"image_url": dataURL(bomb)}}),
			"JSON string": s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "input_reference": dataURL(bomb)}),
			"file id":     s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "input_reference": map[string]any{"file_id": f["id"]}}),
		} {
			if p := r.problem(t, 400); p["param"] != "input_reference" || p["code"] != "invalid_image" {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
}

// signingStore has addresses.
type signingStore struct {
	api.Store
	base string
}

func (f signingStore) Sign(_ context.Context, key string, o storage.SignOptions) (string, error) {
	return f.base + "/" + key + "?type=" + o.ContentType + "&name=" + o.Filename + "&ttl=" + o.TTL.String(), nil
}

func TestRedirectIsOptIn(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) }))
	defer other.Close()
	signing := &signingStore{base: other.URL}
	s := newStack(t, func(in *setup) {
		in.api.RedirectContent, in.api.RedirectTTL, in.deps.Store = true, time.Minute, signing
	})
	signing.Store = s.store
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	client := *s.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &client
	r := s.request(t, "GET", "/v1/videos/"+id+"/content?variant=thumbnail", nil)
	if want := fmt.Sprintf("%s/videos/%s/1/thumbnail.webp?type=image/webp&name=%s.webp&ttl=1m0s", other.URL, id, id); r.status != 302 || r.header.Get("Location") != want {
		t.Errorf("%d to %q, want %q", r.status, r.header.Get("Location"), want)
	}
	if r := s.request(t, "HEAD", "/v1/videos/"+id+"/content", nil); r.status != 200 {
		t.Errorf("HEAD: %d", r.status)
	}
}

// TestSlowReadersAreServed and silent ones are not: each write has its time.
func TestSlowReadersAreServed(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.StallTimeout = time.Second })
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MB, more than any socket buffer
	f := s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "a", "", big)).object(t, 200)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /v1/files/%s/content HTTP/1.1\r\nHost: x\r\n\r\n", f["id"])
	inflight := func(n int) func() bool {
		return func() bool {
			return strings.Contains(string(s.request(t, "GET", "/metrics", nil).body), fmt.Sprintf("telefuser_http_requests_inflight %d\n", n))
		}
	}
	eventually(t, "the silent reader is served", inflight(2))
	eventually(t, "the server gives the silent reader up", inflight(1))
	if r := s.request(t, "GET", "/v1/files/"+f["id"].(string)+"/content", nil); !bytes.Equal(r.body, big) {
		t.Errorf("a reader that reads got %d bytes of %d", len(r.body), len(big))
	}
}

// slowBody gives 256 bytes at a time.
type slowBody struct {
	left  string
	pause <-chan time.Time
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left == "" {
		return 0, io.EOF
	}
	<-b.pause
	n := copy(p[:min(len(p), 256)], b.left)
	b.left = b.left[n:]
	return n, nil
}

// TestTLS speaks HTTP/2, and uploads for longer than an answer may take.
func TestTLS(t *testing.T) {
	certFile, keyFile, roots := selfSigned(t)
	stall := time.Second
	s := newStack(t, func(in *setup) {
		in.api.TLSCertFile, in.api.TLSKeyFile, in.api.StallTimeout = certFile, keyFile, stall
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	pause := time.NewTicker(stall / 20)
	defer pause.Stop()
	body := `{"prompt":"a"` + strings.Repeat(" ", 10<<10) + `}` // 40 times 256 bytes: two stall times
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/videos", &slowBody{left: body, pause: pause.C})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 200 || v["status"] != "queued" || res.ProtoMajor != 2 {
		t.Errorf("%s %d: %v %v", res.Proto, res.StatusCode, v, err)
	}
}

// selfSigned writes a certificate for the loopback address.
func selfSigned(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, text := range map[string][]byte{certFile: cert, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return certFile, keyFile, roots
}
