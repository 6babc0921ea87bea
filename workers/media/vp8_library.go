package media

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// vp8Install says what to do when there is no usable libvpx.
const vp8Install = "install libvpx: the package libvpx7 on Debian 12 and Ubuntu 22.04, libvpx9 on Debian 13 and Ubuntu 24.04"

// vpxNames are the names under which libvpx is installed; the number is the one of its binary interface, newest first.
func vpxNames() []string {
	return []string{"libvpx.so.12", "libvpx.so.11", "libvpx.so.9", "libvpx.so.8", "libvpx.so.7"}
}

// vpxABI is one version of libvpx's encoder interface with the releases that have it. The fields that this room touches lie at the same place in all
// of them; a release that is not here may have moved them, so it is refused.
type vpxABI struct {
	number                   int
	minorOldest, minorNewest int
}

// vpxMajor is the major version of all known releases.
const vpxMajor = 1

func vpxABIs() []vpxABI {
	return []vpxABI{
		{number: 25, minorOldest: 11, minorNewest: 12},
		{number: 30, minorOldest: 13, minorNewest: 13},
		{number: 34, minorOldest: 14, minorNewest: 14},
		{number: 36, minorOldest: 15, minorNewest: 15},
		{number: 37, minorOldest: 15, minorNewest: 15},
		{number: 39, minorOldest: 16, minorNewest: 17},
	}
}

// abisOf answers the interfaces that a release may have: none when it is not known. The version is major<<16 | minor<<8 | patch.
func abisOf(version int) []vpxABI {
	minor := version >> 8 & 0xff
	return slices.DeleteFunc(vpxABIs(), func(a vpxABI) bool {
		return version>>16 != vpxMajor || minor < a.minorOldest || minor > a.minorNewest
	})
}

// vpxLibrary is one loaded libvpx.
type vpxLibrary struct {
	name string
	abis []vpxABI

	version, versionText, vp8, configDefault, open, control, encode, packets, destroy, wrap, errText, errDetail cProc
}

// loadVPX finds a libvpx of a known release.
func loadVPX() (*vpxLibrary, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: live VP8 is encoded on Linux only", ErrEncoder)
	}
	var why []string
	for _, name := range vpxNames() {
		lib, err := openVPX(name)
		if err == nil {
			return lib, nil
		}
		if !errors.Is(err, errNotInstalled) {
			why = append(why, err.Error())
		}
	}
	if why == nil {
		return nil, fmt.Errorf("%w: no libvpx: %s", ErrEncoder, vp8Install)
	}
	return nil, fmt.Errorf("%w: %s: %s", ErrEncoder, strings.Join(why, "; "), vp8Install)
}

func openVPX(name string) (*vpxLibrary, error) {
	lib := &vpxLibrary{name: name}
	err := openLibrary(name, map[string]*cProc{
		"vpx_codec_version": &lib.version, "vpx_codec_version_str": &lib.versionText, "vpx_codec_vp8_cx": &lib.vp8,
		"vpx_codec_enc_config_default": &lib.configDefault, "vpx_codec_enc_init_ver": &lib.open, "vpx_codec_control_": &lib.control,
		"vpx_codec_encode": &lib.encode, "vpx_codec_get_cx_data": &lib.packets, "vpx_codec_destroy": &lib.destroy, "vpx_img_wrap": &lib.wrap,
		"vpx_codec_err_to_string": &lib.errText, "vpx_codec_error_detail": &lib.errDetail,
	})
	if err != nil {
		return nil, err
	}
	lib.abis = abisOf(int(lib.version.call()))
	if len(lib.abis) == 0 {
		return nil, fmt.Errorf("%s is the unknown release %s", name, cString(lib.versionText.call()))
	}
	return lib, nil
}
