package storage

import (
	"context"
	"io"
	"time"
)

// Object describes one stored object.
type Object struct {
	// Key names it.
	Key string
	// SizeBytes is its length.
	SizeBytes int64
	// SHA256 is the digest of its bytes in lower-case hex; "" where it is not known, as in answers of List by the s3 driver.
	SHA256 string
	// ContentType is what it was put with; "" where it is not known.
	ContentType string
	// ModifiedAt is when it became visible, by the clock of the store.
	ModifiedAt time.Time
	// ETag is a strong validator with its quotes, ready for the HTTP header.
	ETag string
}

// PutOptions says what the caller knows about an object in advance.
type PutOptions struct {
	// ContentType is kept with the object; "" means application/octet-stream.
	ContentType string
	// SizeBytes is the expected length and is verified; -1 where it is unknown.
	SizeBytes int64
	// SHA256 is the expected digest in hex and is verified; "" where it is unknown.
	SHA256 string
}

// SignOptions shapes a signed address.
type SignOptions struct {
	// TTL is how long the address works, from a second to seven days.
	TTL time.Duration
	// Filename, when set, makes browsers save the object under this name.
	Filename string
	// ContentType, when set, replaces the object's own in the answer.
	ContentType string
}

// Store is what both drivers do. All methods may be called concurrently, and each ends when its context ends.
type Store interface {
	// Put stores what r gives under a key that must be free. The object becomes visible whole or not at all, and its length and digest
	// are verified before Put answers. A reader that can also seek and read at offsets, as an *os.File can, is not copied.
	// Errors: ErrKey, ErrExists, ErrCorrupt (length or digest differ), ErrFull, ErrUnavailable, or the reader's own error. With ErrExists
	// the Object is the one that is there: after an ErrUnavailable, whose answer may have got lost, its digest tells whose it is.
	Put(ctx context.Context, key string, r io.Reader, o PutOptions) (Object, error)
	// Open reads length bytes from offset, or to the end when length is -1; a length past the end is cut. The Object tells the whole
	// size. ErrRange when offset is not inside the object; offset 0 of an empty object is fine. The caller closes the reader.
	// Errors: ErrKey, ErrNotFound, ErrRange, ErrUnavailable; the reader's errors wrap ErrUnavailable.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Object, error)
	// Stat describes an object. Errors: ErrKey, ErrNotFound, ErrUnavailable.
	Stat(ctx context.Context, key string) (Object, error)
	// Delete removes an object; removing what is not there is no error. Errors: ErrKey, ErrUnavailable.
	Delete(ctx context.Context, key string) error
	// List answers at most limit (1 to ListLimitMax) objects whose keys begin with prefix and come after the key after, in byte order.
	List(ctx context.Context, prefix, after string, limit int) ([]Object, error)
	// Sign makes an address under which anybody can read the object for a while. Whether the object exists is not looked up.
	// ErrUnsupported where the driver has no addresses.
	Sign(ctx context.Context, key string, o SignOptions) (string, error)
	// Check answers nil when the store can be reached and written to: what readiness asks.
	Check(ctx context.Context) error
	// Sweep removes what crashed puts left behind more than LeftoverAge ago and answers how many leftovers it removed.
	Sweep(ctx context.Context) (int, error)
}

// ListLimitMax is the most objects that one List answers.
const ListLimitMax = 1000

// LeftoverAge is how old the remains of an unfinished put must be before they count as abandoned.
const LeftoverAge = time.Hour
