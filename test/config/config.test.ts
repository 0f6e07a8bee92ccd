import { isAbsolute } from 'node:path'
import { expect } from 'chai'
import { readConfig, WrongSetting } from '#config/config.ts'

const wrong = (env: Record<string, string>): string => {
  try {
    readConfig(env)
  } catch (error) {
    expect(error).to.be.instanceOf(WrongSetting)
    return (error as Error).message
  }
  throw new Error('the settings were accepted')
}

describe('settings', () => {
  it('are all optional: by default an embedded Postgres with demonstration data on port 3000 [OPS-1]', () => {
    const config = readConfig({})
    expect(config).to.deep.include({
      PORT: 3000,
      QUOTA_PER_MINUTE: 120,
      QUOTA_PER_DAY: 50_000,
      QUOTA_BYTES_PER_DAY: 1_073_741_824,
      SYNC_QUOTA_PER_MINUTE: 600,
      PANEL_QUOTA_PER_SESSION: 300,
      PANEL_QUOTA_PER_USER: 600,
      PANEL_QUOTA_PER_COMPANY: 1_200,
      SEED_DEMO: true,
      TRUST_PROXY: false,
      LOG_LEVEL: 'info',
      PUBLIC_URL: 'http://127.0.0.1:3000',
    })
    expect(config).not.to.have.property('DATABASE_URL')
    expect(config).not.to.have.property('SYNC_TOKEN_DAYS')
    expect(isAbsolute(config.DATA_DIR)).to.equal(true)
  })

  it('treat empty values as absent', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '', TRUST_PROXY: '' })).to.deep.equal(readConfig({}))
  })

  it('seed an external database only on request [OPS-3]', () => {
    const DATABASE_URL = 'postgres://db.internal/shop'
    expect(readConfig({ DATABASE_URL }).SEED_DEMO).to.equal(false)
    expect(readConfig({ DATABASE_URL, SEED_DEMO: 'true' }).SEED_DEMO).to.equal(true)
    expect(readConfig({ SEED_DEMO: 'false' }).SEED_DEMO).to.equal(false)
  })

  it('derive the public URL from the port, without a trailing slash', () => {
    expect(readConfig({ PORT: '8080' }).PUBLIC_URL).to.equal('http://127.0.0.1:8080')
    expect(readConfig({ PUBLIC_URL: 'https://loja.example/' }).PUBLIC_URL).to.equal('https://loja.example')
  })

  it('enable all roles of a process, or the listed ones [OPS-4]', () => {
    expect(readConfig({}).ROLES).to.deep.equal(['api', 'projector', 'dispatcher'])
    expect(readConfig({ ROLES: 'dispatcher, api' }).ROLES).to.deep.equal(['api', 'dispatcher'])
  })

  it('place the checkpoint signing key in the data directory by default', () => {
    expect(readConfig({ DATA_DIR: '/srv/tillbook' }).SEAL_KEY_FILE).to.equal('/srv/tillbook/seal-key.pem')
    expect(readConfig({ SEAL_KEY_FILE: '/run/secrets/seal.pem' }).SEAL_KEY_FILE).to.equal('/run/secrets/seal.pem')
  })

  it('parse the webhook retry schedule and the mail server', () => {
    expect(readConfig({})).to.deep.include({
      WEBHOOK_RETRY_SECONDS: [60, 300, 1_800, 7_200, 21_600],
      WEBHOOK_SWITCH_OFF_HOURS: 24,
    })
    expect(readConfig({ WEBHOOK_RETRY_SECONDS: '0.5, 2', WEBHOOK_SWITCH_OFF_HOURS: '0.01' })).to.deep.include({
      WEBHOOK_RETRY_SECONDS: [0.5, 2],
      WEBHOOK_SWITCH_OFF_HOURS: 0.01,
    })
    expect(readConfig({ PUBLIC_URL: 'https://loja.example' }).SMTP_FROM).to.equal(
      'Tillbook <nao-responda@loja.example>',
    )
    for (const SMTP_URL of ['smtp://a:b@mail.example:587', 'smtps://mail.example'])
      expect(readConfig({ SMTP_URL })).to.include({ SMTP_URL })
  })

  it('use the provider sandbox with demonstration data, and the real provider otherwise [OPS-18]', () => {
    const sandbox = 'http://127.0.0.1:4000'
    const real = 'https://api.mercadopago.com'
    expect(readConfig({}).PAYMENT_PROVIDER_URL).to.equal(sandbox)
    expect(readConfig({ SEED_DEMO: 'false' }).PAYMENT_PROVIDER_URL).to.equal(real)
    expect(readConfig({ DATABASE_URL: 'postgres://a/b' }).PAYMENT_PROVIDER_URL).to.equal(real)
    expect(readConfig({ PAYMENT_PROVIDER_URL: 'https://other.example' }).PAYMENT_PROVIDER_URL).to.equal(
      'https://other.example',
    )
  })

  it('normalize the commission of new stores to two decimals', () => {
    for (const [given, kept] of [
      [undefined, '5.00'],
      ['', '5.00'],
      ['0', '0.00'],
      ['2.5', '2.50'],
    ] as const)
      expect(readConfig({ STORE_COMMISSION_PERCENT: given }).STORE_COMMISSION_PERCENT).to.equal(kept)
  })

  for (const [text, value] of [
    ['true', true],
    ['false', false],
    ['2', 2],
    ['loopback', 'loopback'],
    ['loopback, 10.0.0.0/8,2001:db8::/32', 'loopback, 10.0.0.0/8,2001:db8::/32'],
  ] as const) {
    it(`parse TRUST_PROXY=${text} [KEY-7]`, () => {
      expect(readConfig({ TRUST_PROXY: text }).TRUST_PROXY).to.equal(value)
    })
  }

  for (const [name, value] of [
    ['PORT', '80a'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['QUOTA_PER_MINUTE', '0'],
    ['SYNC_QUOTA_PER_MINUTE', '0'],
    ['PANEL_QUOTA_PER_SESSION', '0'],
    ['PANEL_QUOTA_PER_USER', 'muitas'],
    ['PANEL_QUOTA_PER_COMPANY', '1000001'],
    ['SYNC_TOKEN_DAYS', '0'],
    ['QUOTA_PER_DAY', '1.5'],
    ['QUOTA_BYTES_PER_DAY', '1GiB'],
    ['QUOTA_BYTES_PER_DAY', '1048575'],
    ['WEBHOOK_RETRY_SECONDS', '60;300'],
    ['WEBHOOK_RETRY_SECONDS', '60,,300'],
    ['WEBHOOK_RETRY_SECONDS', '-1'],
    ['WEBHOOK_RETRY_SECONDS', '9999999'],
    ['WEBHOOK_SWITCH_OFF_HOURS', '0'],
    ['SMTP_URL', 'https://mail.example'],
    ['SEED_DEMO', 'maybe'],
    ['DATABASE_URL', 'mysql://localhost/shop'],
    ['PUBLIC_URL', 'loja.example'],
    ['PUBLIC_URL', 'ftp://loja.example'],
    ['PUBLIC_URL', 'https://loja.example/tillbook'],
    ['PUBLIC_URL', 'https://loja.example?a=b'],
    ['PUBLIC_URL', 'https://ana:segredo@loja.example'],
    ['TRUST_PROXY', 'yes'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['PAYMENT_PROVIDER_URL', 'api.mercadopago.com'],
    ['PAYMENT_SWEEP_SECONDS', '60,abc'],
    ['PAYMENT_SWEEP_SECONDS', '300,60'],
    ['PAYMENT_SWEEP_SECONDS', '9999999'],
    ['STORE_COMMISSION_PERCENT', '100.01'],
    ['STORE_COMMISSION_PERCENT', '5%'],
    ['STORE_COMMISSION_PERCENT', '-1'],
    ['SEAL_EVERY_HOURS', '0'],
    ['SEAL_EVERY_HOURS', '200'],
    ['LOG_LEVEL', 'loud'],
    ['MASTER_KEY', 'uma senha'],
    ['MASTER_KEY', '0123456789abcdef'],
    ['ROLES', 'api,worker'],
    ['ROLES', 'api,'],
    ['ROLES', ','],
    ['STOP_DELAY_SECONDS', '301'],
  ] as const) {
    it(`describe the valid values of ${name} instead of ${value} [OPS-2]`, () => {
      expect(wrong({ [name]: value })).to.match(new RegExp(`^${name} should be .{5,}$`))
    })
  }

  it('list replicas, one server in each URL [READ-920]', () => {
    const DATABASE_URL = 'postgres://t@c/db'
    const of = (READ_URLS: string) => readConfig({ DATABASE_URL, READ_URLS }).READ_URLS
    expect(of('postgres://t:p=x@a:5432/db?sslmode=require')).to.deep.equal([
      'postgres://t:p=x@a:5432/db?sslmode=require',
    ])
    expect(of('postgres://a/db, postgresql://b/db')).to.deep.equal(['postgres://a/db', 'postgresql://b/db'])
    for (const list of ['a/db', 'postgres://a:1,b:2/db', 'postgres://a/db,', 'postgres://a/db,postgres://a/db'])
      expect(wrong({ DATABASE_URL, READ_URLS: list }), list).to.match(/^READ_URLS should be URLs of replicas/)
    expect(wrong({ READ_URLS: 'postgres://a/db' })).to.match(/^READ_URLS requires DATABASE_URL/)
    expect(wrong({ READ_MAX_LAG_MS: '0' })).to.match(/^READ_MAX_LAG_MS should be/)
  })

  it('require a certificate and its key together, in readable files [PANEL-104]', () => {
    const [TLS_CERT_FILE, TLS_KEY_FILE] = ['package.json', 'README.md']
    expect(readConfig({ TLS_CERT_FILE, TLS_KEY_FILE }).PUBLIC_URL).to.equal('https://127.0.0.1:3000')
    expect(wrong({ TLS_CERT_FILE })).to.match(/^TLS_CERT_FILE requires TLS_KEY_FILE/)
    expect(wrong({ TLS_KEY_FILE })).to.match(/^TLS_KEY_FILE requires TLS_CERT_FILE/)
    expect(wrong({ TLS_CERT_FILE, TLS_KEY_FILE: 'none.pem' })).to.match(/^TLS_KEY_FILE should be a PEM file/)
  })

  it('accept former master keys only together with a current one [OPS-70]', () => {
    const [current, former] = ['a'.repeat(64), 'b'.repeat(64)]
    const { MASTER_KEY, MASTER_KEY_FORMER } = readConfig({
      MASTER_KEY: current,
      MASTER_KEY_FORMER: `${former}, ${current}`,
    })
    expect([MASTER_KEY, ...(MASTER_KEY_FORMER ?? [])].map((key) => key?.toString('hex'))).to.deep.equal([
      current,
      former,
      current,
    ])
    expect(wrong({ MASTER_KEY_FORMER: former })).to.match(/^MASTER_KEY_FORMER requires MASTER_KEY/)
    expect(wrong({ MASTER_KEY: current, MASTER_KEY_FORMER: `${former};x` })).to.match(/^MASTER_KEY_FORMER should be/)
  })

  it('report all invalid ones, without values, since one may be a password [OPS-2]', () => {
    const message = wrong({ PORT: 'x', DATABASE_URL: 'http://user:secret@host' })
    expect(message.split('\n')).to.have.length(2)
    expect(message).not.to.include('secret')
  })
})
