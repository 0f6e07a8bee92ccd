import { expect } from 'chai'
import { parseCommandLine, usageFor, WrongUsage } from '#cli/arguments.ts'
import { COMMANDS, find } from '#cli/commands.ts'
import { ROLES } from '#domain/roles.ts'
import { PAYMENT_KINDS, PLANS } from '#events/companies.ts'

const words = (line: string): string[] => line.split(' ')

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
    ['', /no such command/],
    ['shop create', /no such command/],
    ['company', /no such command/],
    ['company destroy', /no such command/],
    ['toString', /no such command/],
    ['company constructor', /no such command/],
    ['company list --limit 3', /--limit/],
    ['company list everything', /everything/],
    ['key revoke 1 2 --company 3', /"2"/],
    ['key revoke --company 3', /--key/],
    ['company create --name Loja', /--cnpj/],
    ['company create --name', /--name/],
  ] as const) {
    it(`refuses "${line}" [OPS-14]`, () => {
      expect(misunderstood(line).message).to.match(message)
    })
  }

  it('shows the verbs of the group, or the usage of the refused verb', () => {
    expect(misunderstood('key destroy').usage)
      .to.include('key revoke --company ID KEY_ID')
      .and.not.to.include('company create')
    expect(misunderstood('key revoke').usage).to.include('key revoke').and.not.to.include('key list')
    expect(usageFor(['company', 'update'])).to.include('company update ID [--name NAME]')
  })

  it('lists the valid plans, kinds and roles', () => {
    expect(usageFor(['company', 'create'])).to.include(`[--plan ${PLANS.join('|')}]`)
    expect(usageFor(['payment-type', 'create'])).to.include(
      `--kind ${PAYMENT_KINDS.filter((kind) => kind !== 'online').join('|')} `,
    )
    expect(usageFor(['user', 'create'])).to.include(`--role ${ROLES.join('|')}\n`)
  })

  it('finds every listed verb', () => {
    const all = find([])
    const offered = 'candidates' in all ? all.candidates : []
    expect(offered).to.deep.equal(Object.keys(COMMANDS))
    for (const name of offered) expect(find(name.split(' '))).to.include({ name })
  })
})
