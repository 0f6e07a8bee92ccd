import { expect } from 'chai'
import fc from 'fast-check'
import {
  boundedText,
  Email,
  ExternalId,
  Id,
  nameKey,
  nameText,
  optionalText,
  Phone,
  searchKey,
  sortKey,
} from '#domain/text.ts'
import { anyCharacter } from '../support/random.ts'

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success

describe('text', () => {
  it('is trimmed at both ends and otherwise unchanged [VAL-4]', () => {
    expect(boundedText(20).parse('  São  João\n\t2 \r\n')).to.equal('São  João\n\t2')
    expect(boundedText(20).parse('a\u0301')).to.equal('a\u0301')
  })

  it('counts code points after trimming', () => {
    expect(accepts(boundedText(3), '  abc  ')).to.equal(true)
    expect(accepts(boundedText(3), 'abcd')).to.equal(false)
    expect(accepts(boundedText(3), '🍕🍕🍕')).to.equal(true)
    expect(accepts(boundedText(3), '🍕🍕🍕🍕')).to.equal(false)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const length = [...value.trim()].length
        const isPlain = ![...value.trim()].some(
          (character) => character < ' ' && character !== '\n' && character !== '\t',
        )
        expect(accepts(boundedText(5), value)).to.equal(isPlain && length >= 1 && length <= 5)
      }),
    )
  })

  it('refuses characters that cannot be stored or seen [VAL-4]', () => {
    const refused = [
      '',
      '   ',
      '\u00a0\ufeff',
      'a\u0000b',
      'a\u0008b',
      'a\u001fb',
      'a\u0007b',
      'a\u0080b',
      'a\u0085b',
      '\u009f',
      'a\ud800b',
      '\udc00',
      'a\udc00\ud800',
      1,
      null,
      undefined,
    ]
    for (const value of refused) expect(accepts(boundedText(100), value), JSON.stringify(value)).to.equal(false)
  })

  it('may be null or absent when optional, never empty', () => {
    for (const value of [null, undefined, 'a']) expect(optionalText(5).parse(value)).to.equal(value)
    expect(accepts(optionalText(5), '')).to.equal(false)
    expect(accepts(optionalText(5), '123456')).to.equal(false)
  })
})

describe('name text', () => {
  it('is a single line of visible characters, in any script and with emoji [VAL-4]', () => {
    for (const name of [
      'José d’Ávila & Cia.',
      '株式会社',
      'Café ☕️',
      '👩🏽‍🍳 Cozinha',
      '🏳️‍🌈',
      '2️⃣ Irmãos #️⃣',
      '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
      'كتاب',
    ]) {
      expect(nameText(30).parse(name)).to.equal(name)
    }
  })

  it('refuses control and invisible characters, and names them [VAL-4]', () => {
    for (const [name, code] of [
      ['Ana\u200bMaria', 'U+200B'],
      ['Ana\u00ad', 'U+00AD'],
      ['\u202eanA', 'U+202E'],
      ['An\u2066a', 'U+2066'],
      ['Ana\u200dMaria', 'U+200D'],
      ['Ana\ufe0f', 'U+FE0F'],
      ['A\u3164na', 'U+3164'],
      ['A\ufeffna', 'U+FEFF'],
      ['A\u0085na', 'U+0085'],
      ['A\u2028na', 'U+2028'],
      ['Ana\nMaria', 'U+000A'],
      ['Ana\tMaria', 'U+0009'],
      ['A\u{e0041}na', 'U+E0041'],
    ]) {
      const message = `não pode conter caracteres de controle ou invisíveis (${code})`
      expect(
        nameText(30)
          .safeParse(name)
          .error?.issues.map((issue) => issue.message),
      ).to.deep.equal([message])
    }
    expect(nameText(3).safeParse('abcd').error?.issues).to.have.length(1)
  })
})

describe('external id', () => {
  it('is compared byte by byte [REC-7]', () => {
    for (const id of ['A-1', 'a b', 'ç', 'x'.repeat(100), '../1?&#%']) expect(ExternalId.parse(id)).to.equal(id)
    for (const id of ['', ' ', ' a', 'a ', 'a\n', 'a\u0000b', '\ud800', 'x'.repeat(101), 1, null, undefined]) {
      expect(accepts(ExternalId, id), JSON.stringify(id)).to.equal(false)
    }
  })
})

describe('name key', () => {
  it('ignores case, outer blanks, runs of blanks and composition [REC-1]', () => {
    expect(nameKey('  JOÃO \t da\u00a0 Silva ')).to.equal('joão da silva')
    expect(nameKey('Joa\u0303o')).to.equal(nameKey('JOÃO'))
    expect(nameKey('J\u030c')).to.equal(nameKey('\u01f0'))
  })

  it('keeps accents distinct', () => {
    expect(nameKey('José')).to.not.equal(nameKey('Jose'))
  })

  it('lower-cases by Brazilian rules', () => {
    const folded = (name: string) => name.normalize('NFC').trim().replace(/\s+/g, ' ')
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (name) => {
        expect(nameKey(name)).to.equal(folded(name).toLocaleLowerCase('pt-BR').normalize('NFC'))
      }),
    )
  })

  it('is idempotent', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (name) => nameKey(nameKey(name)) === nameKey(name)))
  })
})

describe('search key', () => {
  it('ignores case, accents and blanks', () => {
    expect(searchKey('  ÁGUA  Mineral ')).to.equal('agua mineral')
    for (const apostrophe of "'’‘`´ʼ′＇") expect(searchKey(`D${apostrophe}ÁGUA`)).to.equal("d'agua")
    expect(searchKey('Ac\u0327a\u0303o Nº 1ª')).to.equal('acao no 1a')
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => searchKey(searchKey(text)) === searchKey(text)))
  })
})

describe('sort key', () => {
  const sorted = (names: readonly string[]) =>
    [...names].sort((a, b) => Buffer.compare(Buffer.from(sortKey(a)), Buffer.from(sortKey(b))))

  it('sorts names in Portuguese order, by code points [LIST-10]', () => {
    const names = ['7 Belo', 'Açaí', 'acém', 'Água', 'agua mineral', 'Azeite', 'Érica', 'Eva', 'pais', 'país', 'Zê']
    expect(sorted([...names].reverse())).to.deep.equal(names)
    const letter = fc.constantFrom(...'aábcçdeéêiíoóôõuüz 019AÁÇÉZ')
    const { compare } = new Intl.Collator('pt-BR', { sensitivity: 'base' })
    fc.assert(
      fc.property(fc.array(fc.string({ unit: letter, minLength: 1, maxLength: 6 }), { maxLength: 6 }), (words) => {
        const plain = words.map((word) => word.trim().replace(/ +/g, ' ')).filter((word) => word !== '')
        const inOrder = sorted(plain)
        for (const [at, name] of inOrder.slice(1).entries()) expect(compare(inOrder[at] ?? '', name)).to.be.at.most(0)
      }),
    )
  })
})

describe('contact fields', () => {
  it('lower-cases e-mail addresses', () => {
    expect(Email.parse(' Ana.Souza+loja@Exemplo.COM.br ')).to.equal('ana.souza+loja@exemplo.com.br')
    expect(Email.parse('\u202aana\u200b@exemplo.com\u202c')).to.equal('ana@exemplo.com')
    for (const value of [
      '',
      'ana',
      'ana@',
      '@b.co',
      'a b@c.co',
      'a@b',
      'a@b..co',
      'a@\u212a.com',
      `${'a'.repeat(250)}@b.co`,
      1,
      null,
    ]) {
      expect(accepts(Email, value), String(value)).to.equal(false)
    }
    expect(accepts(Email, `${'a'.repeat(249)}@b.co`)).to.equal(true)
  })

  it('accepts telephone numbers in common notations, and stores their digits [PERSON-4]', () => {
    for (const [phone, digits] of [
      ['11999990000', '11999990000'],
      ['+55 (11) 99999-0000', '5511999990000'],
      [' 190.190', '190190'],
    ]) {
      expect(Phone.parse(phone)).to.equal(digits)
    }
    for (const value of ['', '12345', '1'.repeat(21), '11 9999x0000', '------', '+5511987654321.00', 11999990000]) {
      expect(accepts(Phone, value), String(value)).to.equal(false)
    }
  })
})

describe('id', () => {
  it('is a positive safe integer', () => {
    for (const id of [1, 981, Number.MAX_SAFE_INTEGER]) expect(Id.parse(id)).to.equal(id)
    for (const id of [0, -1, 1.5, 2 ** 53, Number.NaN, '1', null, undefined, true])
      expect(accepts(Id, id), String(id)).to.equal(false)
  })
})
