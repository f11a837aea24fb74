// What golang.org/x/mod/sumdb, an implementation that shares no code with ours, makes of a log of ours.
//
// Reads one JSON request from stdin and writes one JSON answer: for each thing it was asked to check, "" or why not.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8 // of a tile of c2sp.org/tlog-tiles: 256 hashes

type request struct {
	Vkey    string   // of the log
	Notes   []string // opened with Vkey
	Bundle  string   // a bundle with all records
	Proofs  []proof
	Growths []growth
	Skey    string // signs Texts
	Texts   []string
}

type proof struct {
	Text string // c2sp.org/tlog-proof
	Leaf string
}

type growth struct {
	Old, New string // notes
	Path     []string
}

type answer struct {
	Notes   []string
	Proofs  []string
	Growths []string
	Bundle  string
	Signed  []string
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var said answer
	for _, text := range asked.Notes {
		_, err := open(text, asked.Vkey)
		said.Notes = append(said.Notes, why(err))
	}
	for _, one := range asked.Proofs {
		said.Proofs = append(said.Proofs, why(checkProof(one, asked.Vkey)))
	}
	for _, one := range asked.Growths {
		said.Growths = append(said.Growths, why(checkGrowth(one, asked.Vkey)))
	}
	if asked.Bundle != "" {
		said.Bundle = why(checkBundle(asked.Bundle, asked.Vkey))
	}
	for _, text := range asked.Texts {
		signer, err := note.NewSigner(asked.Skey)
		if err == nil {
			var signed []byte
			signed, err = note.Sign(&note.Note{Text: text}, signer)
			said.Signed = append(said.Signed, string(signed))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	json.NewEncoder(os.Stdout).Encode(said)
}

func why(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// open returns the tree that a note of ours signs. tlog.ParseTree wants a first line of its own, so ours is read here.
func open(text, vkey string) (tlog.Tree, error) {
	var tree tlog.Tree
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return tree, err
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != verifier.Name() {
		return tree, errors.New("not three lines, the first the name")
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	tree.Hash, err = tlog.ParseHash(lines[2])
	return tree, err
}

func checkProof(one proof, vkey string) error {
	head, signed, found := strings.Cut(one.Text, "\n\n")
	lines := strings.Split(head, "\n")
	if !found || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" || !strings.HasPrefix(lines[1], "index ") {
		return errors.New("not a proof")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil {
		return err
	}
	path, err := hashes(lines[2:])
	if err != nil {
		return err
	}
	tree, err := open(signed, vkey)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash([]byte(one.Leaf)))
}

func checkGrowth(one growth, vkey string) error {
	before, err := open(one.Old, vkey)
	if err != nil {
		return err
	}
	after, err := open(one.New, vkey)
	if err != nil {
		return err
	}
	path, err := hashes(one.Path)
	if err != nil {
		return err
	}
	return tlog.CheckTree(path, after.N, after.Hash, before.N, before.Hash)
}

func hashes(lines []string) ([]tlog.Hash, error) {
	var path []tlog.Hash
	for _, line := range lines {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, err
		}
		path = append(path, hash)
	}
	return path, nil
}

// tiles reads the tiles of a bundle: sumdb's `tile/8/L/N` is `tile/L/N` there.
type tiles struct{ folder string }

func (t tiles) Height() int { return height }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, one := range wanted {
		name := strings.Replace(one.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
		content, err := os.ReadFile(filepath.Join(t.folder, name))
		if err != nil {
			return nil, err
		}
		found = append(found, content)
	}
	return found, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// checkBundle holds the bundle's records, tiles, entries and checkpoint together.
func checkBundle(folder, vkey string) error {
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	if err != nil {
		return err
	}
	tree, err := open(string(signed), vkey)
	if err != nil {
		return err
	}
	records, err := os.ReadFile(filepath.Join(folder, "records.jsonl"))
	if err != nil {
		return err
	}
	leaves := bytes.SplitAfter(records, []byte("\n"))
	leaves = leaves[:len(leaves)-1]
	if int64(len(leaves)) != tree.N {
		return fmt.Errorf("%d records under a checkpoint of %d", len(leaves), tree.N)
	}
	reader := tlog.TileHashReader(tree, tiles{folder})
	var stored []tlog.Hash
	own := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var found []tlog.Hash
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	var entries []byte
	for at, line := range leaves {
		leaf := bytes.TrimSuffix(line, []byte("\n"))
		more, err := tlog.StoredHashes(int64(at), leaf, own)
		if err != nil {
			return err
		}
		stored = append(stored, more...)
		entries = binary.BigEndian.AppendUint16(entries, uint16(len(leaf)))
		entries = append(entries, leaf...)
		if (at+1)%256 == 0 || at+1 == len(leaves) {
			if err := checkEntries(folder, at, entries); err != nil {
				return err
			}
			entries = nil
		}
	}
	root, err := tlog.TreeHash(tree.N, own)
	if err != nil {
		return err
	}
	if root != tree.Hash {
		return errors.New("the records make another root")
	}
	for index := range stored { // the reader checks each hash against the signed root
		hash, err := reader.ReadHashes([]int64{int64(index)})
		if err != nil {
			return err
		}
		if hash[0] != stored[index] {
			return fmt.Errorf("the tiles hold another hash %d", index)
		}
	}
	for at := range leaves {
		path, err := tlog.ProveRecord(tree.N, int64(at), reader)
		if err != nil {
			return err
		}
		leaf := bytes.TrimSuffix(leaves[at], []byte("\n"))
		if err := tlog.CheckRecord(path, tree.N, tree.Hash, int64(at), tlog.RecordHash(leaf)); err != nil {
			return err
		}
	}
	return nil
}

func checkEntries(folder string, last int, want []byte) error {
	tile := tlog.Tile{H: height, L: -1, N: int64(last / 256), W: last%256 + 1}
	name := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/data/", height), "tile/entries/", 1)
	found, err := os.ReadFile(filepath.Join(folder, name))
	if err == nil && !bytes.Equal(found, want) {
		err = fmt.Errorf("%s holds other records", name)
	}
	return err
}
