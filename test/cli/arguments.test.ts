import { expect } from 'chai'
import { parseCommandLine, usageFor, WrongUsage } from '#cli/arguments.ts'
import { type CliCommand, COMMANDS, find } from '#cli/commands.ts'
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
    expect(help).to.match(/\n {2}--scopes all\|read\|SCOPE,SCOPE +scopes, with commas\n/)
    expect(help).to.match(/\nexit codes: 0 done; 1 .*; 2 wrong usage$/)
  })

  for (const [name, { summary, flags, example }] of Object.entries<CliCommand>(COMMANDS))
    it(`summarizes ${name} in 70 characters, and gives an example that is understood`, () => {
      expect(summary.length).to.be.at.most(70)
      expect(summary).to.match(/^[a-z-]+s /)
      const shown = usageFor(name.split(' '))
      for (const flag of Object.keys(flags)) expect(shown, flag).to.not.match(new RegExp(`\\s{2}${flag}$`, 'm'))
      expect(parseCommandLine([...name.split(' '), ...argumentsIn(example ?? '')]).name).to.equal(name)
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
