package mediatest

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// twofold are files that are a picture and something else.
func twofold(b Bait) []File {
	p, j, w := pngPicture(), jpegPicture(), unbase64(webpLossless)
	zip, playlist := "PK\x03\x04\x14\x00\x00\x00", "#EXTM3U\n#EXTINF:1,\nfile://"+b.Path+"\n"
	page := `<html><img src="` + b.URL + `"><script>fetch("` + b.URL + `")</script></html>`
	return append(refused(map[string][]byte{
		"JPEG and ZIP":            join(j, zip),
		"JPEG and MP4":            join(j, mp4(b)),
		"JPEG and a page":         join(j, page),
		"JPEG and PHP":            join(j, "<?php readfile('"+b.Path+"');"),
		"PNG and a playlist":      join(p, playlist),
		"PNG and ZIP":             join(p, zip),
		"PNG and a page":          join(p, page),
		"PNG and MP4":             join(p, mp4(b)),
		"PNG and PNG":             join(p, p),
		"WebP and a playlist":     join(w, playlist),
		"WebP and ZIP":            join(w, zip),
		"PDF and JPEG":            join("%PDF-1.4\n", j),
		"GIF and a script":        join("GIF89a/*", make([]byte, 16), "*/=1;"),
		"ZIP and PNG":             join(zip, p),
		"playlist and PNG":        join(playlist, p),
		"page and PNG":            join(page, p),
		"space and PNG":           join(" ", p),
		"byte order mark and PNG": join("\xef\xbb\xbf", p),
		"line and JPEG":           join("\r\n", j),
		"AVI that says WebP":      join(riff("AVI ", riffChunk("LIST", []byte("WEBP"))), w),
		"MP4 and JPEG":            join(mp4(b), j),
	}), odd(map[string][]byte{
		"PNG with a playlist inside":   withChunks(chunk("tEXt", []byte("a\x00"+playlist))),
		"PNG with a page inside":       withChunks(chunk("iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"+page))),
		"PNG with an external entity":  withChunks(chunk("iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"+entity(b)))),
		"JPEG with PHP inside":         afterSOI(j, segment(0xfe, []byte("<?php readfile('"+b.Path+"');"))),
		"JPEG with an external entity": afterSOI(j, segment(0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00"+entity(b)))),
		"JPEG with ZIP inside":         afterSOI(j, segment(0xfe, []byte(zip))),
		"WebP with an external entity": riff("WEBP", riffChunk("VP8X", vp8x(0x04, Side, Side)), w[12:], riffChunk("XMP ", []byte(entity(b)))),
	})...)
}

func entity(b Bait) string {
	return `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file://` + b.Path + `"><!ENTITY b SYSTEM "` + b.URL + `">]><x>&a;&b;</x>`
}

// foreign are formats that nobody takes.
func foreign(Bait) []File {
	out := map[string][]byte{}
	for name, head := range map[string]string{
		"BMP":              "BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00",
		"TIFF of Intel":    "II*\x00\x08\x00\x00\x00\xff\xff",
		"TIFF of Motorola": "MM\x00*\xff\xff\xff\xff",
		"BigTIFF":          "II+\x00\x08\x00\x00\x00",
		"ICO":              "\x00\x00\x01\x00\xff\xff",
		"GIF":              "GIF89a\x40\x00\x40\x00\x80\x00\x00",
		"AVIF":             "\x00\x00\x00\x1cftypavif",
		"HEIC":             "\x00\x00\x00\x18ftypheic",
		"JPEG XL":          "\x00\x00\x00\x0cJXL \r\n\x87\n",
		"JPEG 2000":        "\x00\x00\x00\x0cjP  \r\n\x87\n",
		"PSD":              "8BPS\x00\x01",
		"OpenEXR":          "v/1\x01",
		"Radiance":         "#?RADIANCE\n",
		"PNM":              "P6\n99999 99999\n255\n",
		"XPM":              "/* XPM */",
		"farbfeld":         "farbfeld\xff\xff\xff\xff",
		"QOI":              "qoif\xff\xff\xff\xff",
		"DDS":              "DDS |",
		"PCX":              "\x0a\x05\x01\x08",
		"TGA":              "\x00\x00\x02\x00",
		"WMF":              "\xd7\xcd\xc6\x9a",
		"MNG":              "\x8aMNG\r\n\x1a\n",
		"JNG":              "\x8bJNG\r\n\x1a\n",
		"MKV":              "\x1a\x45\xdf\xa3",
		"MPEG-TS":          "G@\x00\x10",
		"FLV":              "FLV\x01",
		"Ogg":              "OggS\x00",
		"gzip":             "\x1f\x8b\x08",
		"xz":               "\xfd7zXZ\x00",
		"ELF":              "\x7fELF",
		"MZ":               "MZ\x90",
		"script":           "#!/bin/sh\nid\n", "text": "hello", "zeros": "", "the word PNG": "PNG\r\n\x1a\n", "PNG without its 8th bit": "\x09PNG\r\n\x1a\n",
	} {
		out[name] = join(head, make([]byte, 256))
	}
	out["nothing"], out["one byte"] = nil, []byte{0x89}
	return refused(out)
}

// referring are formats that name other files and hosts.
func referring(b Bait) []File {
	out := map[string][]byte{}
	for name, text := range map[string]string{
		"SVG with an image":   `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><image href="file://PATH"/><image href="URL"/></svg>`,
		"SVG with an entity":  entity(b),
		"SVG with a style":    `<svg><style>@import "URL";</style></svg>`,
		"page":                `<html><link rel=stylesheet href="URL"><iframe src="file://PATH"></iframe></html>`,
		"playlist":            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://PATH\n#EXTINF:1,\nURL\n#EXT-X-ENDLIST\n",
		"playlist that joins": "#EXTM3U\n#EXTINF:1,\nconcat:URL|file://PATH\n",
		"playlist of a key":   "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"URL\"\n#EXTINF:1,\nfile://PATH\n",
		"playlist of VLC":     "[playlist]\nFile1=file://PATH\n",
		"ffconcat":            "ffconcat version 1.0\nfile 'PATH'\nfile 'URL'\n",
		"DASH":                `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>URL</BaseURL></MPD>`,
		"SMIL":                `<smil><body><video src="URL"/></body></smil>`,
		"SDP":                 "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
		"MVG":                 "push graphic-context\nviewbox 0 0 64 64\nfill 'url(URL)'\nimage over 0,0 0,0 'PATH'\npop graphic-context\n",
		"MSL":                 `<image><read filename="PATH"/><get width="base-width"/></image>`,
		"PostScript":          "%!PS-Adobe-3.0 EPSF-3.0\n(PATH) (r) file\n",
		"PDF":                 "%PDF-1.4\n1 0 obj<</S/URI/URI(URL)>>endobj\n",
		"subtitles":           "1\n00:00:00,000 --> 00:00:01,000\n<img src=URL>\n",
		"VRML":                "#VRML V2.0 utf8\nInline { url \"URL\" }\n",
		"JSON":                `{"image_url":"URL","path":"PATH"}`,
		"YAML":                "!!python/object/apply:os.system [\"cat PATH\"]\n",
		"avisynth":            "FFmpegSource2(\"PATH\")\n",
		"vapoursynth":         "import vapoursynth\ncore.lsmas.LWLibavSource('PATH')\n",
	} {
		out[name] = []byte(strings.NewReplacer("PATH", b.Path, "URL", b.URL).Replace(text))
	}
	out["MP4 with outer data"], out["MOV that refers"] = mp4(b), movie(b)
	out["AVI with subtitles"] = riff("AVI ", riffChunk("LIST", join("hdrl", riffChunk("strh", []byte("txts")))), riffChunk("LIST", join("movi", riffChunk("00tx", join("GAB2\x00\x02\x00", "#EXTM3U\nfile://"+b.Path+"\n")))))
	return refused(out)
}

func box(kind string, parts ...any) []byte {
	body := join(parts...)
	return join(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8)), kind, body)
}

// mp4 has its pictures in another file and on another host.
func mp4(b Bait) []byte {
	refs := box("dref", "\x00\x00\x00\x00\x00\x00\x00\x02", box("url ", "\x00\x00\x00\x00file://"+b.Path+"\x00"), box("url ", "\x00\x00\x00\x00"+b.URL+"\x00"))
	return join(box("ftyp", "isom\x00\x00\x02\x00isommp41"), box("moov", box("mvhd", make([]byte, 100)), box("trak", box("mdia", box("minf", box("dinf", refs))))), box("mdat", bytes.Repeat([]byte{0}, 64)))
}

// movie is a QuickTime file that only says where the film is.
func movie(b Bait) []byte {
	ref := func(kind, to string) []byte {
		return box("rmda", box("rdrf", "\x00\x00\x00\x00", kind, binary.BigEndian.AppendUint32(nil, uint32(len(to)+1)), to, "\x00"))
	}
	return join(box("ftyp", "qt  \x00\x00\x00\x00qt  "), box("moov", box("rmra", ref("url ", "file://"+b.Path), ref("url ", b.URL))))
}

// Clips are files that a video may be taken for by their first bytes, and that name other files and hosts.
func Clips(b Bait) []File {
	return odd(map[string][]byte{"MP4 with outer data": mp4(b), "MOV that refers": movie(b), "MP4 of a head alone": box("ftyp", "isom\x00\x00\x02\x00"), "Matroska of a head alone": []byte("\x1a\x45\xdf\xa3\xff\xff\xff\xff\xff\xff\xff\xff")})
}
