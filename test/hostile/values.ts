import fc from 'fast-check'
import { anyCharacter } from '../support/random.ts'

/** Texts that may fail somewhere between socket and table. */
export const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\u0007',
  '\u007f',
  '\ud800',
  'a\udc00',
  '\udbff\udfff',
  '\ufffe',
  '\ufeff',
  '\u202eabc\u202c',
  '\u2066שלום\u2069',
  'مرحبا',
  'Z\u0351\u036b\u0343\u036aa\u0302\u0326l\u0358g\u0321o\u0308'.repeat(8),
  'e\u0301'.repeat(60),
  '\u212b\u00c5A\u030a',
  'ﬁ ﷺ İ ı ß ẞ ſ K',
  '👩‍👩‍👧‍👦',
  '🏳️‍🌈'.repeat(20),
  '\u2028\u2029\u0085',
  '０１２',
  '١٢٣',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '../../etc/passwd',
  '%00',
  '%s%n',
  "' or 1=1; drop table ledger.events; --",
  '\\',
  '"',
  '{{7*7}}<%= 7 %>',
  '<script>alert(1)</script>',
  'null',
  'NaN',
  'Infinity',
  '-0',
  '0x10',
  '1e1000',
  '1_000',
  '1,00',
  '00.00',
  '-1.00',
  '9999999999.99',
  '99999999999999999999.99',
  '999999999.999',
  '0.0001',
  '9007199254740993',
  '0000-01-01',
  '2026-02-30',
  '9999-12-31',
  '0001-01-01T00:00:00Z',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59.999-12:00',
  '2026-03-29T02:30:00+99:99',
  '+275760-09-13T00:00:00Z',
  '2016-12-31T23:59:60Z',
  'infinity',
  'epoch',
  'x'.repeat(101),
  'x'.repeat(100_000),
  '𝒳'.repeat(50_000),
] as const

/** JSON texts of numbers that JavaScript cannot represent. */
const ODD_NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '1e308',
  '-1e308',
  '1e400',
  '-1e400',
  '1e-400',
  '0.1e1',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '123456789012345678901234567890',
  `1${'0'.repeat(400)}`,
  `0.${'3'.repeat(10_000)}`,
] as const

const nested = (depth: number): string[] => [
  `${'['.repeat(depth)}${']'.repeat(depth)}`,
  `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
  `${'[{"items":'.repeat(depth)}0${'}]'.repeat(depth)}`,
]

const ODD_STRUCTURES = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[null]',
  '[[]]',
  '{"":""}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"valueOf":1,"hasOwnProperty":1,"then":1,"toJSON":1,"length":1e9}',
  '{"length":-1,"0":"a"}',
  `[${'0,'.repeat(2_000)}0]`,
  `{${Array.from({ length: 2_000 }, (_, n) => `"k${n}":${n}`).join(',')}}`,
  ...nested(40),
  ...nested(3_000),
] as const

/** Names of members. */
export const oddName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'length', 'id', ''),
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
)

/** Any text, valid or not. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
)

/** JSON text that hardly any field accepts. */
export const oddJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_STRUCTURES) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3, stringUnit: 'binary' }) },
  // A lone surrogate in a form that JSON.stringify never writes, and an unnecessary escape.
  { weight: 1, arbitrary: fc.constantFrom('"\\ud800"', '"\\u0000"', '"\\u0041"', '"\\/"') },
)

/** Characters of a text that cannot end a request line early. */
export const printed = (text: string): string => text.replace(/[^\x21-\x7e]|[?#]/g, '')

/** Percent-encoded; a lone surrogate, which has no encoding, becomes U+FFFD. */
export const encoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString())
