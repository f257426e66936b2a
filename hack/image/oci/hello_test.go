package oci_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
)

// static is the type of the first segment of a statically linked program.
const static = elf.PT_LOAD

// program writes the smallest file that checks accept as a program of a processor: the ELF header and the header of one
// segment. It cannot run; [TestUnpackedProgramRuns] compiles one that runs.
func program(t *testing.T, machine elf.Machine, segment elf.ProgType) string {
	t.Helper()
	const headerSize, segmentSize = 64, 56
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: 1,
	}
	var content bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(segment)}} {
		if err := binary.Write(&content, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(file, content.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// processors are the platforms of the tests' images: that of this machine and another one.
func processors() (ours, others elf.Machine, otherPlatform string) {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64, elf.EM_X86_64, "linux/amd64"
	}
	return elf.EM_X86_64, elf.EM_AARCH64, "linux/arm64"
}

// hello is a program for this machine.
func hello(t *testing.T) string {
	t.Helper()
	ours, _, _ := processors()
	return program(t, ours, static)
}

// image has all possible fields of an image.
func image(program string) oci.Image {
	return oci.Image{
		Programs: []oci.Program{{Source: program, Path: "/bin/hello"}},
		Files: []oci.File{
			{Path: "/etc/greeting", Content: []byte("good morning\n")},
			{Path: "/etc/deep/er/file", Content: []byte("below\n"), Mode: 0o600},
			{Path: "/tmp", Mode: os.ModeDir | os.ModeSticky | 0o777},
		},
		Env: []string{"A=B"}, Labels: map[string]string{"org.opencontainers.image.title": "hello"},
	}
}

// twoImages are for this machine and for another one.
func twoImages(t *testing.T) []oci.Image {
	t.Helper()
	_, others, platform := processors()
	second := image(program(t, others, static))
	second.Platform = platform
	return []oci.Image{image(hello(t)), second}
}

func bundle(t *testing.T, name string, images ...oci.Image) *oci.Bundle {
	t.Helper()
	bundle, err := oci.New(name, images...)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}
