package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"telefuser/jobs"
)

// specMarginBytes is kept free for what a spec still gets after it was checked: a seed, a key and a request id.
const specMarginBytes = 1 << 10

// fingerprint is the digest of what a request says, not of its bytes: boundaries, spelling and the order of fields differ between the
// retries of one request. Ids that were made here are no part of it, and it is taken before a seed is drawn.
func (d draft) fingerprint() (string, error) {
	said := d.spec
	said.ImageKey, said.RequestID, said.TraceParent = "", "", ""
	text, err := json.Marshal(struct {
		Spec      any
		SeedGiven bool
		Image     string
	}{said, d.seedGiven, d.imageDigest})
	if err != nil {
		return "", err
	}
	if len(text) > jobs.SpecBytesMax-specMarginBytes {
		return "", badRequest("prompt", codeTooLong, "prompt, camera and metadata are too long together.")
	}
	return hexDigest(text), nil
}

func hexDigest(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// digestOf is the digest of what a request without pictures says.
func digestOf(said any) (string, error) {
	text, err := json.Marshal(said)
	if err != nil {
		return "", err
	}
	return hexDigest(text), nil
}

// idempotencyKey reads the header of that name; "" where there is none.
func idempotencyKey(header http.Header) (string, error) {
	values := header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > idempotencyKeyBytesMax || !printable(key) {
		return "", badRequest("Idempotency-Key", codeInvalidValue, "Idempotency-Key must be one header of 1 to 255 printable ASCII characters.")
	}
	return key, nil
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// isRetry is whether an SDK says that it sends this request again.
func isRetry(header http.Header) bool {
	count, err := strconv.Atoi(header.Get("X-Stainless-Retry-Count"))
	return err == nil && count > 0
}

// sortedNames are the keys of a map in order, so that the same request gets the same answer.
func sortedNames[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
