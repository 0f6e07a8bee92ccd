import { readdirSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { parseCommandLine, usageFor, WrongUsage } from '#cli/arguments.ts'
import { type CliCommand, COMMANDS, find } from '#cli/commands.ts'
import { detailsInEnglish, fieldInEnglish, refusalInEnglish } from '#cli/service-client.ts'
import { createProgress, formatAsText, formatEstimate, formatProgress, Refused, withSecrets } from '#cli/verb.ts'
import { ROLES } from '#domain/rights.ts'
import { PAYMENT_KINDS, PLANS } from '#events/company-events.ts'

const words = (line: string): string[] => line.split(' ')

/** Arguments as a shell splits them. */
const argumentsIn = (line: string): string[] =>
  Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')

const misunderstood = (line: string): WrongUsage => {
  try {
    parseCommandLine(words(line))
  } catch (error) {
    expect(error).to.be.instanceOf(WrongUsage)
    return error as WrongUsage
  }
  throw new Error(`"${line}" was understood`)
}

describe('command line', () => {
  it('accepts flags as --flag value and as --flag=value', () => {
    const { name, values } = parseCommandLine([...words('company create --cnpj=11222333000181 --name'), 'Loja  Azul'])
    expect(name).to.equal('company create')
    expect(values).to.deep.equal({ cnpj: '11222333000181', name: 'Loja  Azul' })
  })

  it('accepts an empty value, and a value with an equals sign', () => {
    expect(parseCommandLine(words('company update 3 --logo-url= --name=a=b')).values).to.deep.equal({
      company: '3',
      'logo-url': '',
      name: 'a=b',
    })
  })

  it('accepts a boolean flag without a value', () => {
    const line = 'store create --company 3 --sandbox --alias loja --commission 5'
    expect(parseCommandLine(words(line)).values).to.include({ sandbox: 'true', alias: 'loja' })
    expect(parseCommandLine(words(line.replace(' --sandbox', ''))).values).to.not.have.property('sandbox')
    expect(misunderstood(line.replace('--sandbox', '--sandbox=yes')).usage).to.include('[--sandbox]')
  })

  it('accepts the subject of a verb with or without its flag', () => {
    expect(parseCommandLine(words('company update 3 --plan api')).values).to.deep.equal({ company: '3', plan: 'api' })
    expect(parseCommandLine(words('company update --plan api --company 3')).values).to.deep.equal({
      company: '3',
      plan: 'api',
    })
    expect(parseCommandLine(words('key revoke 12 --company 3')).values).to.deep.equal({ key: '12', company: '3' })
  })

  for (const [line, message] of [
    ['', /^unknown verb ""$/],
    ['shop create', /^unknown verb "shop create"$/],
    ['company', /^unknown verb "company"$/],
    ['company destroy', /^unknown verb "company destroy"$/],
    ['toString', /^unknown verb "toString"$/],
    ['company constructor', /^unknown verb/],
    ['company list --limit 3', /--limit/],
    ['company list everything', /^unexpected argument "everything"$/],
    ['key revoke 1 2 --company 3', /"2"/],
    ['key revoke --company 3', /--key/],
    ['company create --name Loja', /--cnpj/],
    ['company create --name', /--name/],
  ] as const) {
    it(`refuses "${line}" [OPS-14]`, () => {
      expect(misunderstood(line).message).to.match(message)
    })
  }

  it('lists the verbs of the group, or explains the refused verb', () => {
    expect(misunderstood('key destroy').usage)
      .to.include('  key revoke                 revokes an API key')
      .and.not.to.include('company create')
    expect(misunderstood('key revoke').usage)
      .to.include('key revoke --company ID KEY_ID')
      .and.not.to.include('key list')
    expect(usageFor(['company', 'update'])).to.include('company update ID [--name NAME]')
  })

  it('explains a verb by its arguments, a working example and exit codes', () => {
    const help = usageFor(['key', 'create'])
    expect(help.split('\n')[0]).to.equal('key create: creates an API key and shows it once')
    expect(usageFor(['key create'])).to.equal(help)
    expect(help).to.match(/\n {2}--scopes all\|read\|SCOPE,SCOPE +scopes, with commas\n/)
    expect(help).to.match(/\nexit codes: 0 done; 1 .*; 2 wrong usage$/)
  })

  for (const [name, { summary, flags, example }] of Object.entries<CliCommand>(COMMANDS))
    it(`summarizes ${name} by a verb, and gives an example that is understood`, () => {
      expect(summary).to.match(/^[a-z-]+s /)
      const shown = usageFor(name.split(' '))
      for (const flag of Object.keys(flags)) expect(shown, flag).to.not.match(new RegExp(`\\s{2}${flag}$`, 'm'))
      expect(parseCommandLine([...name.split(' '), ...argumentsIn(example ?? '')]).name).to.equal(name)
    })

  it('lists the verbs in lines of at most 70 characters', () => {
    for (const line of usageFor([]).split('\n')) expect(line.length, line).to.be.at.most(70)
  })

  it('lists the valid plans, kinds and roles', () => {
    expect(usageFor(['company', 'create'])).to.include(`[--plan ${PLANS.join('|')}]`)
    expect(usageFor(['payment-type', 'create'])).to.include(
      `--kind ${PAYMENT_KINDS.filter((kind) => kind !== 'online').join('|')} `,
    )
    expect(usageFor(['user', 'create'])).to.include(`--role ${ROLES.join('|')} `)
  })

  it('finds every listed verb', () => {
    const all = find([])
    const offered = 'candidates' in all ? all.candidates : []
    expect(offered).to.deep.equal(Object.keys(COMMANDS))
    for (const name of offered) expect(find(name.split(' '))).to.include({ name })
  })
})

describe('text output', () => {
  it('shows a record with one line per member', () => {
    const record = { id: 1, scopes: ['a:read', 'b:read'], expires_at: null, nested: { a: 1 } }
    expect(formatAsText(record)).to.equal(
      'id          1\nscopes      a:read,b:read\nexpires_at  -\nnested      {"a":1}',
    )
  })

  it('shows a list in columns, including members that only some records have', () => {
    const list = [
      { id: 1, name: 'Pix' },
      { id: 12, name: 'Crediário', reason: 'a prazo' },
    ]
    expect(formatAsText(list)).to.equal('id  name       reason\n1   Pix        -\n12  Crediário  a prazo')
  })

  it('reports an empty list', () => {
    expect(formatAsText([])).to.equal('(none)')
  })
})

describe('progress of a command', () => {
  for (const { shown, ...state } of [
    {
      done: 120_000,
      total: 1_000_000,
      elapsed_ms: 15_000,
      shown: 'events: 120,000 of 1,000,000 (12 %), 8,000 a second, 1 min 50 s left',
    },
    { done: 1, total: 10_000, elapsed_ms: 1_000, shown: 'events: 1 of 10,000 (0 %), 1 a second, 2 h 46 min left' },
    { done: 999, total: 1_000, elapsed_ms: 2_000, shown: 'events: 999 of 1,000 (99 %), 500 a second, 1 s left' },
    { done: 1_010, total: 1_000, elapsed_ms: 2_000, shown: 'events: 1,010 of 1,010 (100 %), 505 a second, 0 s left' },
    { done: 0, total: 5, elapsed_ms: 3_000, shown: 'events: 0 of 5 (0 %), 0 a second' },
    { done: 0, total: 0, elapsed_ms: 0, shown: 'events: 0 of 0 (100 %), 0 a second' },
    { done: 4_200, total: null, elapsed_ms: 2_000, shown: 'events: 4,200, 2,100 a second' },
  ])
    it(`reads "${shown}" [OPS-156]`, () => expect(formatProgress({ unit: 'events', ...state })).to.equal(shown))

  it('is estimated beforehand by a rate that is called an estimate', () => {
    expect(formatEstimate('events', 1_000_000, 4_000)).to.equal(
      'events: 1,000,000, about 4 min 10 s at an estimated 4,000 a second',
    )
  })

  /** A stream that keeps what is written. */
  function createStream(isTTY: boolean) {
    const written: string[] = []
    return { isTTY, write: (text: string) => written.push(text) > 0, text: () => written.join('') }
  }

  /** Output of a step of 40 portions of 100 events, one each half second. */
  function outputOf(isTTY: boolean, isShown: boolean): string {
    let now = 0
    const stream = createStream(isTTY)
    const progress = createProgress({ stream, isShown, clock: () => now })
    progress.begin('events', 4_000, 100)
    for (let n = 0; n < 40; n++) {
      now += 500
      progress.add(100)
      if (n === 10) progress.tell('company 3 is read-only')
    }
    progress.end()
    return stream.text()
  }

  it('is one line on a terminal, which other lines do not break [OPS-156]', () => {
    const lines = outputOf(true, true).split('\n')
    const last = lines.map((line) => line.split('\r\u001b[K').at(-1))
    expect(last).to.deep.equal([
      'events: 4,000, about 40 s at an estimated 100 a second',
      'company 3 is read-only',
      'events: 4,000 of 4,000 (100 %), 200 a second, 0 s left',
      '',
    ])
    expect(lines[2]?.split('\r')).to.have.length.above(20)
  })

  it('is a line now and then elsewhere [OPS-156]', () => {
    expect(outputOf(false, true).split('\n')).to.deep.equal([
      'events: 4,000, about 40 s at an estimated 100 a second',
      'events: 400 of 4,000 (10 %), 200 a second, 18 s left',
      'company 3 is read-only',
      'events: 2,400 of 4,000 (60 %), 200 a second, 8 s left',
      'events: 4,000 of 4,000 (100 %), 200 a second, 0 s left',
      '',
    ])
  })

  it('is not shown with JSON output, nor for a step of less than two seconds [OPS-156]', () => {
    expect(outputOf(true, false)).to.equal('company 3 is read-only\n')
    const stream = createStream(true)
    const progress = createProgress({ stream, isShown: true, clock: () => 0 })
    progress.begin('events', 4_000, 10_000)
    progress.add(4_000)
    progress.end()
    expect(stream.text()).to.equal('')
  })
})

describe('secrets of the command line', () => {
  const given = (line: string, input: string) => {
    const { name, values } = parseCommandLine(line.split(' '))
    return withSecrets(COMMANDS[name].flags, values, Readable.from([input]))
  }

  it('are read from standard input for a value of -', async () => {
    for (const input of ['s3cret, with spaces ', 's3cret, with spaces \n', 's3cret, with spaces \r\nand more\n']) {
      const values = await given('user set-password --company 3 --email a@b.co --password -', input)
      expect(values).to.deep.equal({ company: '3', email: 'a@b.co', password: 's3cret, with spaces ' })
    }
  })

  it('are read line by line, in the order of the usage', async () => {
    expect(usageFor(['store', 'update'])).to.match(/--access-token TOKEN\|-\] \[--notification-secret SECRET\|-/)
    const values = await given('store update loja --notification-secret - --access-token -', 'token\nsecret\n')
    expect(values).to.deep.equal({ alias: 'loja', 'access-token': 'token', 'notification-secret': 'secret' })
    const one = await given('store update loja --access-token token --notification-secret -', 'secret\n')
    expect(one).to.include({ 'access-token': 'token', 'notification-secret': 'secret' })
  })

  it('are refused if the input ends too early', async () => {
    for (const input of ['', 'token\n']) {
      const error = await given('store update loja --access-token - --notification-secret -', input).catch((e) => e)
      expect(error).to.be.instanceOf(Refused)
      expect((error as Refused).refusal.refused).to.equal('validation_failed')
      expect((error as Refused).refusal.details?.fields).to.have.property('notification-secret')
    }
  })

  it('leave standard input unread if no value is -', async () => {
    const { name, values } = parseCommandLine('company update 3 --name -'.split(' '))
    const input = Readable.from(['Loja\n'])
    expect(await withSecrets(COMMANDS[name].flags, values, input)).to.deep.equal({ company: '3', name: '-' })
    expect(input.readableDidRead).to.equal(false)
  })
})

const VERB_FILES = readdirSync('src/cli').filter((file) => file.endsWith('.ts'))

/** Sources of the messages that verbs can get: what they import, values of fields, and GET routes for `ledger as-of`. */
const SOURCES = [
  ...new Set([
    ...VERB_FILES.flatMap((file) =>
      Array.from(readFileSync(`src/cli/${file}`, 'utf8').matchAll(/from '#(commands|access)\/([^']+)'/g)).map(
        ([, folder = '', name = '']) => (folder === 'access' ? `src/access/${name}` : `${folder}/${name}`),
      ),
    ),
    ...['text', 'instant', 'money', 'person-values'].map((name) => `src/domain/${name}.ts`),
    ...['integrity/as-of', 'api/read-as-of', 'api/request'].map((name) => `src/${name}.ts`),
    ...readdirSync('src/records').map((name) => `src/records/${name}`),
    ...readdirSync('queries')
      .filter((name) => /^(?:record|request|finance)/.test(name))
      .map((name) => `queries/${name}`),
    ...readdirSync('src/api/v1').map((name) => `src/api/v1/${name}`),
  ]),
]
const PORTUGUESE = /^(?:deve|não|preencha|informe|é|tem|começa|um documento|só|já|campo|o livro) /
/** Literals and templates without conditions; an expression counts as a number. */
const TEXT = /'((?:\\.|[^'\\\n])*)'|`((?:[^`$?]|\$\{[^}?]*\})*)`/g

describe('refusals of the command line', () => {
  it('are English, whatever a command says in Portuguese', () => {
    const messages = SOURCES.flatMap((path) =>
      Array.from(readFileSync(path, 'utf8').matchAll(TEXT), ([, literal, template = '']) => literal ?? template)
        .filter((text) => PORTUGUESE.test(text) && !/\$\{side/.test(text))
        .map((text) => text.replace(/\$\{[^}]*\}/g, '7')),
    )
    expect(messages).to.have.length.above(40)
    expect(messages.filter((message) => fieldInEnglish(message) === message)).to.deep.equal([])
    const built = [
      'deve ter no máximo 1 caractere',
      'deve ter no mínimo 2 itens',
      'deve ser no máximo 9',
      'deve ser "a"',
    ]
    expect(built.map(fieldInEnglish)).to.deep.equal([
      'has the wrong length, at most 1',
      'has the wrong length, at least 2',
      'is out of range, at most 9',
      'must be "a"',
    ])
  })

  it('keep codes and other details', () => {
    expect(refusalInEnglish('last_owner')).to.match(/^The company needs/)
    expect(refusalInEnglish('toString')).to.equal(null)
    const details = { fields: { cnpj: ['preencha este campo'] }, unknown_fields: ['x'] }
    expect(detailsInEnglish(details)).to.deep.equal({ fields: { cnpj: ['is required'] }, unknown_fields: ['x'] })
    expect(detailsInEnglish({ subject: 'customer/9' })).to.deep.equal({ subject: 'customer/9' })
  })
})
