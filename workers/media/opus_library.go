package media

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// opusInstall says what to do when there is no libopus.
const opusInstall = "install libopus: the package libopus0 on Debian and Ubuntu"

// opusName is libopus with the number of its binary interface, which is the same since release 1.0 of 2012.
const opusName = "libopus.so.0"

// opusLibrary is one loaded libopus.
type opusLibrary struct {
	version, create, control, encode, destroy, errText cProc
}

func loadOpus() (*opusLibrary, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: live sound is encoded on Linux only", ErrEncoder)
	}
	lib, err := openOpus(opusName)
	if errors.Is(err, errNotInstalled) {
		return nil, fmt.Errorf("%w: no libopus: %s", ErrEncoder, opusInstall)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %s", ErrEncoder, err, opusInstall)
	}
	return lib, nil
}

func openOpus(name string) (*opusLibrary, error) {
	lib := &opusLibrary{}
	err := openLibrary(name, map[string]*cProc{
		"opus_get_version_string": &lib.version, "opus_encoder_create": &lib.create, "opus_encoder_ctl": &lib.control, "opus_encode": &lib.encode,
		"opus_encoder_destroy": &lib.destroy, "opus_strerror": &lib.errText,
	})
	if err != nil {
		return nil, err
	}
	if text := cString(lib.version.call()); !strings.HasPrefix(text, "libopus ") {
		return nil, fmt.Errorf("%s calls itself %q", name, text)
	}
	return lib, nil
}
