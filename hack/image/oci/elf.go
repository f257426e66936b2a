package oci

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// machines maps Go's names of processors to ELF header values. Other processors are not checked.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386,
	"ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "riscv64": elf.EM_RISCV,
}

// checkProgram refuses programs that would fail in a pod with "no such file or directory" or "exec format error". The
// cause is harder to find there.
func checkProgram(content []byte, platform v1.Platform) error {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("it is no executable for Linux: %w", err)
	}
	if want, known := machines[platform.Architecture]; known && file.Machine != want {
		return fmt.Errorf("it is for another processor, %s", file.Machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return errors.New("it is linked dynamically, and an image from here has no libraries: build it with CGO_ENABLED=0")
		}
	}
	return nil
}
