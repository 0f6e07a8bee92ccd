/** What verifiers have to find in the files of proof-vectors.ts. */
interface ProofCase {
  readonly title: string
  /** Keys that are trusted; the first one of the operator where none is named. */
  readonly keys?: readonly ('first' | 'second' | 'witness')[]
  readonly files: readonly string[]
  /** By file, the reason of its first thing that is not sound. */
  readonly found?: Readonly<Record<string, string>>
}

const RING = 'keys.jsonl'

export const PROOF_CASES: readonly ProofCase[] = [
  { title: 'an export alone', files: ['export.jsonl'] },
  {
    title: 'an export and all that was signed of it',
    files: [
      ...[RING, 'export.jsonl', 'checkpoint-4.note', 'checkpoint-7.note', 'company-1.checkpoints', 'receipt-2.json'],
      ...['receipt-6.json', 'inclusion.json', 'consistency.json', 'place.tlog-proof'],
    ],
  },
  { title: 'a receipt alone, whose key signatures join to the given one', files: [RING, 'receipt-6.json'] },
  { title: 'a receipt alone, whose key was given', keys: ['second'], files: ['receipt-6.json'] },
  { title: 'a ring without a given key: its first is taken', keys: [], files: [RING, 'receipt-6.json'] },
  {
    title: 'no key at all',
    keys: [],
    files: ['checkpoint-7.note'],
    found: { 'checkpoint-7.note': 'no_key' },
  },
  { title: 'a witness', keys: ['first', 'witness'], files: [RING, 'installation.note', 'place.tlog-proof'] },
  {
    title: 'an export that begins later',
    files: ['export-from-5.jsonl', 'checkpoint-4.note'],
    found: { 'checkpoint-4.note': 'export_begins_later' },
  },
  {
    title: 'an export of one company, and what was signed of two',
    files: ['export.jsonl', 'installation.entries'],
    found: { 'installation.entries': 'no_export' },
  },
  { title: 'the entries of the installation log', files: [RING, 'installation.entries', 'installation.note'] },
  {
    title: 'an inclusion proof without a checkpoint',
    files: [RING, 'inclusion-unsigned.json'],
    found: { 'inclusion-unsigned.json': 'no_checkpoint' },
  },
  {
    title: 'a consistency proof that binds nothing',
    files: [RING, 'consistency.json', 'checkpoint-4.note'],
    found: { 'consistency.json': 'no_checkpoint' },
  },
  {
    title: 'a ledger that goes on after a restore that lost what was signed',
    files: [RING, 'export.jsonl', 'checkpoint-since-7.note'],
  },
  {
    title: 'the same, and a checkpoint of before the restore',
    files: [RING, 'export.jsonl', 'checkpoint-lost-4.note', 'checkpoint-since-7.note'],
    found: { 'checkpoint-lost-4.note': 'no_export' },
  },
  {
    title: 'a ring that is not the one of the given key',
    files: ['keys-replaced.jsonl', 'checkpoint-stranger.note'],
    found: { 'checkpoint-stranger.note': 'unknown_key' },
  },
  {
    title: 'a key that was lost',
    files: ['keys-lost.jsonl', 'checkpoint-7.note'],
    found: { 'checkpoint-7.note': 'key_changed_without_signature' },
  },
  {
    title: 'a key that was lost, and the next one given',
    keys: ['first', 'second'],
    files: ['keys-lost.jsonl', 'checkpoint-7.note'],
  },
  {
    title: 'a ring whose entry was altered',
    files: ['keys-altered.jsonl'],
    found: { 'keys-altered.jsonl': 'malformed' },
  },
  {
    title: 'a ring whose entry the key before has not signed',
    files: ['keys-unsigned.jsonl'],
    found: { 'keys-unsigned.jsonl': 'wrong_signature' },
  },
  {
    title: 'a tail that was written anew, and a checkpoint',
    files: [RING, 'export-forged.jsonl', 'checkpoint-7.note'],
    found: { 'checkpoint-7.note': 'other_root' },
  },
  {
    title: 'a tail that was written anew, and a receipt of it',
    files: [RING, 'export-forged.jsonl', 'receipt-6.json'],
    found: { 'receipt-6.json': 'other_root' },
  },
  {
    title: 'a tail that was written anew, exported from later on, and a receipt of it',
    files: [RING, 'export-forged-from-5.jsonl', 'receipt-6.json'],
    found: { 'receipt-6.json': 'other_hash' },
  },
  {
    title: 'a tail that was cut off',
    files: [RING, 'export-short.jsonl', 'checkpoint-7.note'],
    found: { 'checkpoint-7.note': 'truncated' },
  },
  {
    title: 'an event that was altered, and a checkpoint',
    files: [RING, 'export-altered.jsonl', 'checkpoint-7.note'],
    found: { 'export-altered.jsonl': 'wrong_hash', 'checkpoint-7.note': 'after_fault' },
  },
  {
    title: 'events that changed places',
    files: ['export-reordered.jsonl'],
    found: { 'export-reordered.jsonl': 'wrong_revision' },
  },
  { title: 'a member twice', files: ['export-twice.jsonl'], found: { 'export-twice.jsonl': 'malformed' } },
  {
    title: 'a fork',
    files: [RING, 'checkpoint-7.note', 'checkpoint-forged.note'],
    found: { 'checkpoint-forged.note': 'fork' },
  },
  {
    title: 'a checkpoint that was altered',
    files: [RING, 'checkpoint-altered.note'],
    found: { 'checkpoint-altered.note': 'wrong_signature' },
  },
  {
    title: 'a cosignature of another text',
    keys: ['first', 'witness'],
    files: [RING, 'installation-cosigned-wrongly.note'],
    found: { 'installation-cosigned-wrongly.note': 'wrong_cosignature' },
  },
  {
    title: 'a place of another entry',
    files: [RING, 'place-altered.tlog-proof'],
    found: { 'place-altered.tlog-proof': 'not_included' },
  },
  {
    title: 'a receipt that was altered',
    files: [RING, 'receipt-altered.json'],
    found: { 'receipt-altered.json': 'wrong_hash' },
  },
  {
    title: 'a receipt of another event',
    files: [RING, 'receipt-forged.json'],
    found: { 'receipt-forged.json': 'not_included' },
  },
  {
    title: 'an inclusion proof in another tree than that of its checkpoint',
    files: [RING, 'inclusion-of-another.json'],
    found: { 'inclusion-of-another.json': 'other_root' },
  },
  {
    title: 'an inclusion proof of another revision',
    files: [RING, 'inclusion-forged.json'],
    found: { 'inclusion-forged.json': 'not_included' },
  },
  {
    title: 'a consistency proof of other sizes',
    files: [RING, 'consistency-forged.json'],
    found: { 'consistency-forged.json': 'not_consistent' },
  },
]
