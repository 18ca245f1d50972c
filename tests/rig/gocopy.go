// SPDX-License-Identifier: BSD-3-Clause

// gocopy copy|bytes send|receive ADDRESS:PORT FILE: one transfer over TCP. "copy" leaves the way of the bytes to Go's library
// (sendfile, splice), "bytes" reads and writes pieces of 64 KiB.
package main

import (
	"io"
	"log"
	"net"
	"os"
)

type reader struct{ io.Reader }
type writer struct{ io.Writer }

func transfer(how string, to io.Writer, from io.Reader) {
	var err error
	if how == "copy" {
		_, err = io.Copy(to, from)
	} else {
		_, err = io.CopyBuffer(writer{to}, reader{from}, make([]byte, 64<<10))
	}
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func send(how, address, path string) {
	listener, err := net.Listen("tcp", address)
	check(err)
	conn, err := listener.Accept()
	check(err)
	file, err := os.Open(path)
	check(err)
	transfer(how, conn, file)
	check(conn.Close())
}

func receive(how, address, path string) {
	conn, err := net.Dial("tcp", address)
	check(err)
	file, err := os.Create(path)
	check(err)
	transfer(how, file, conn)
	check(file.Close())
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: gocopy copy|bytes send|receive ADDRESS:PORT FILE")
	}
	end := send
	if os.Args[2] == "receive" {
		end = receive
	}
	end(os.Args[1], os.Args[3], os.Args[4])
}
