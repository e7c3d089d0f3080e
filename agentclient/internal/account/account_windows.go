package account

import (
	"os/user"
	"path/filepath"
	"syscall"
	"unsafe"
)

// lookUp returns the profile directory of this process's account.
func lookUp() (string, error) {
	account, err := user.Current() // reads the process's token, not the environment
	if err != nil {
		return "", err
	}
	return account.HomeDir, nil
}

func lookUpName() string {
	account, err := user.Current()
	if err != nil {
		return ""
	}
	return account.Username
}

// ConfigDir returns the directory of an account's settings.
func ConfigDir(home string) string { return filepath.Join(home, "AppData", "Roaming", "hookback") }

// SystemDir is the directory of the machine's administrator. Its access control list keeps
// other accounts from writing.
var SystemDir = filepath.Join(programData(), "hookback")

// programData returns the folder of the machine's settings from the system, because the
// agent can set the variable ProgramData.
func programData() string {
	folder := syscall.GUID{Data1: 0x62AB5D82, Data2: 0xFDC1, Data3: 0x4DC3, Data4: [8]byte{0xA9, 0xDD, 0x07, 0x0D, 0x1D, 0x49, 0x5D, 0x97}}
	var path *uint16
	status, _, _ := syscall.NewLazyDLL("shell32.dll").NewProc("SHGetKnownFolderPath").Call(
		uintptr(unsafe.Pointer(&folder)), 0, 0, uintptr(unsafe.Pointer(&path)))
	if status != 0 || path == nil {
		return `C:\ProgramData`
	}
	return utf16Text(path)
}

// utf16Text returns the text up to the terminating zero.
func utf16Text(first *uint16) string {
	var text []uint16
	for p := first; *p != 0; p = (*uint16)(unsafe.Add(unsafe.Pointer(p), 2)) {
		text = append(text, *p)
	}
	return syscall.UTF16ToString(text)
}
