package api

import "time"

// The limits of what a client sends. Hitting one is an ordinary answer: 413, 400 or 429 in the envelope.
const (
	// jsonBytesMax bounds a JSON body: room for a picture of imageBytesMax as a data URL beside 1 MB of the rest.
	jsonBytesMax = 28 << 20
	// jsonPlainBytesMax bounds a JSON body without the text of its data URLs.
	jsonPlainBytesMax = 1 << 20
	// jsonDepthMax bounds the nesting of JSON and of bracket names.
	jsonDepthMax = 32
	// formBytesMax bounds an urlencoded body.
	formBytesMax = 1 << 20
	// multipartBytesMax bounds a multipart body, partsMax its parts, partHeaderBytesMax the header of one part.
	multipartBytesMax  = 25 << 20
	partsMax           = 32
	partHeaderBytesMax = 16 << 10
	// textFieldBytesMax bounds a text field. A prompt may be longer, for promptRunesMax characters can have four bytes each, and so may
	// a data URL, up to the body's own limit.
	textFieldBytesMax = 64 << 10
	promptRunesMax    = 32000
	promptBytesMax    = 4 * promptRunesMax
	// nameBytesMax bounds the name of a field.
	nameBytesMax = 256
	// imageBytesMax bounds a picture, and any other uploaded file but that of a batch.
	imageBytesMax = 20 << 20
	// batchFileBytesMax bounds the file of a batch, as OpenAI does, filesBodyBytesMax the form that any file comes in.
	batchFileBytesMax = 200 << 20
	filesBodyBytesMax = batchFileBytesMax + multipartBytesMax - imageBytesMax
	// fetchesMax is how many pictures are fetched by URL at the same time; more of them wait.
	fetchesMax = 16
	// spoolMemoryBytesMax is what of one upload is held in memory before it goes to a file without a name.
	spoolMemoryBytesMax = 256 << 10
	// The limits of metadata, in pairs and characters.
	metadataPairsMax      = 16
	metadataKeyRunesMax   = 64
	metadataValueRunesMax = 512
	// idempotencyKeyBytesMax bounds an Idempotency-Key.
	idempotencyKeyBytesMax = 255
	// authorizationBytesMax bounds an Authorization header.
	authorizationBytesMax = 512
	// characterNameRunesMax bounds a character's name, filenameRunesMax the kept part of a file's name.
	characterNameRunesMax = 80
	filenameRunesMax      = 255
	// extensionsMax and extendedSecondsMax bound a chain of extensions.
	extensionsMax      = 6
	extendedSecondsMax = 120
	// webhookNameRunesMax and webhookURLBytesMax bound a webhook endpoint.
	webhookNameRunesMax = 256
	webhookURLBytesMax  = 2048
	// identityBytesMax bounds the identity of a participant, sessionPromptBytesMax the prompt of a session, whose record is read whole.
	identityBytesMax      = 128
	sessionPromptBytesMax = 48 << 10
	// rangesMax bounds the ranges of one download; each is a look into the store. More of them are answered with the whole file.
	rangesMax = 16
	// ignoredMax bounds the names of unused fields that an answer lists.
	ignoredMax = 32
	// The pages of lists.
	videosLimitDefault  = 20
	videosLimitMax      = 100
	filesLimitDefault   = 100
	batchesLimitDefault = 20
	batchesLimitMax     = 100
	filesLimitMax       = 10000
	sessionsLimitMax    = 100
	// A page of webhook endpoints.
	webhooksLimitDefault = 20
	webhooksLimitMax     = 100
)

// The limits of a connection. The idle timeout is above the five minutes that load generators keep connections, so that it is the
// client that closes first.
const (
	readHeaderTimeout   = 10 * time.Second
	idleTimeout         = 400 * time.Second
	maxHeaderBytes      = 32 << 10
	cleanupTimeout      = 5 * time.Second
	readyCheckTimeout   = 1500 * time.Millisecond
	retryAfterSeconds   = 1
	queueFullRetryAfter = 5
	// sessionPictureTTL is how long a session's picture is kept, queue and duration included.
	sessionPictureTTL = 24 * time.Hour
)
