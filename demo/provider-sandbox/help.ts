/** Printed when the sandbox runs: what it is for, and what to curl. */
export const sandboxHelp = (url: string): string => `
  A payment provider to try things with answers on ${url}

  Start the service with it, and create a payment of an order (docs/online-store.md):
    PAYMENT_PROVIDER_URL=${url} npm start

  Card tokens: APRO approves at once, OTHE rejects at once; any other payment stays pending.
  Access tokens that begin with INVALID are refused. Payments are forgotten when this ends.

  What has been paid, and what was told:
    curl -s ${url}/sandbox/payments
    curl -s ${url}/sandbox/notifications
  What happens to a payment; each tells the service with a signed notification:
    curl -sX POST ${url}/sandbox/payments/ID/approve     also: reject cancel refund charge-back
  Tell it again, five times side by side:
    curl -sX POST ${url}/sandbox/payments/ID/notify -H 'Content-Type: application/json' -d '{"times":5,"at_once":true}'
  Tell a lie: bad_signature unsigned other_order (with url) other_amount other_mode unknown_payment other_type
    curl -sX POST ${url}/sandbox/payments/ID/forge -H 'Content-Type: application/json' -d '{"as":"bad_signature"}'
  Hold or lose notifications, send what was held (forward backward shuffled at_once), repeat what failed:
    curl -sX PUT  ${url}/sandbox/settings -H 'Content-Type: application/json' -d '{"delivery":"hold"}'
    curl -sX POST ${url}/sandbox/notifications/release -H 'Content-Type: application/json' -d '{"order":"backward"}'
    curl -sX POST ${url}/sandbox/notifications/retry
  Sign with the secret of another store, or not at all (null):
    curl -sX PUT  ${url}/sandbox/settings -H 'Content-Type: application/json' -d '{"secret":"..."}'
  Fail: none slow (delay_ms) down error limited html wrong_types huge trickle
    curl -sX PUT  ${url}/sandbox/fault -H 'Content-Type: application/json' -d '{"mode":"slow","delay_ms":8000}'

`
