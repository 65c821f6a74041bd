import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkedAddresses, isPublicAddress, isRefusedAddress, UrlRefusal } from './public-host.ts';

describe('UR-52: an address is public', () => {
  test('only if it is unicast and meant for the whole internet', () => {
    for (const address of ['93.184.216.34', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::1'])
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
  });

  test.each([
    ['this host', '0.0.0.0', '0.1.2.3', '::'],
    ['loopback', '127.0.0.1', '127.255.0.1', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254'],
    ['link-local, metadata', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', '168.63.129.16'],
    ['carrier-grade NAT', '100.64.0.1', '100.100.100.200', '100.127.255.255'],
    [
      'reserved',
      '192.0.0.192',
      '192.0.2.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '240.0.0.1',
      '255.255.255.255',
    ],
    ['reserved, IPv6', '100::1', '2001:db8::1', '3fff::1', '5f00::1', 'fec0::1', '4000::1'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['mapped', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:10.0.0.1'],
    ['compatible', '::127.0.0.1', '::a00:1', '::808:808'],
    ['NAT64', '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8'],
    ['6to4 and Teredo', '2002:7f00:1::', '2002:808:808::1', '2001::1'],
    ['no address', '', 'localhost', '1.2.3', '1.2.3.4.5', '1.2.3.4/8'],
  ])('never: %s', (_kind, ...addresses) => {
    for (const address of addresses) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });

  test('a public address stays public when it is mapped or translated', () => {
    expect(['::ffff:1.1.1.1', '64:ff9b::1.1.1.1'].map(isPublicAddress)).toEqual([true, true]);
  });

  test('if and only if its mapped and its translated form are', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const forms = [address, `::ffff:${address}`, `64:ff9b::${address}`].map(isPublicAddress);
        expect(new Set(forms).size).toBe(1);
      }),
    );
  });
});

describe('UR-52: the addresses of a host', () => {
  const public4 = { address: '93.184.216.34', family: 4 };
  const private4 = { address: '10.0.0.1', family: 4 };
  const public6 = { address: '2606:4700::1111', family: 6 };
  const names: Record<string, readonly { address: string; family: number }[]> = {
    'open.test': [public4, public6],
    'mixed.test': [public4, private4],
    'inside.corp.test': [private4],
    'corp.test': [private4],
    'empty.test': [],
  };
  const lookup = async (name: string) => names[name] ?? [];
  const check = (host: string, allowHosts: readonly string[] = []) => checkedAddresses(host, { lookup, allowHosts });

  test('are all that its name has, if every one of them is public', async () => {
    expect(await check('open.test')).toEqual([public4, public6]);
    for (const host of ['mixed.test', 'inside.corp.test', 'empty.test', 'unknown.test'])
      await expect(check(host)).rejects.toThrow(UrlRefusal);
  });

  test('are those of an allowed name, whatever they are', async () => {
    for (const allowed of ['inside.corp.test', 'INSIDE.corp.test', '*.corp.test', '*.test'])
      expect(await check('inside.corp.test', [allowed])).toEqual([private4]);
    expect(await check('inside.corp.test.', ['inside.corp.test'])).toEqual([private4]);
    expect(await check('[::1]', ['[::1]'])).toEqual([{ address: '::1', family: 6 }]);
    for (const other of ['corp.test', '*.inside.corp.test', '*.orp.test', 'x.test', '*', ''])
      await expect(check('inside.corp.test', [other])).rejects.toThrow(UrlRefusal);
    await expect(check('corp.test', ['*.corp.test'])).rejects.toThrow(UrlRefusal);
  });

  test('written as numbers are checked in every spelling that a URL may have, without a look-up', async () => {
    const spellings = [
      '127.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '017700000001',
      '127.0.0.1.',
      '[::1]',
      '[::ffff:7f00:1]',
      '①②⑦.0.0.1',
    ];
    for (const spelling of [...spellings, '169.254.169.254', '[fd00:ec2::254]'])
      await expect(check(new URL(`http://${spelling}/`).hostname)).rejects.toThrow(UrlRefusal);
    expect(await check(new URL('http://1.1/').hostname, ['1.0.0.1'])).toEqual([{ address: '1.0.0.1', family: 4 }]);
  });

  test('are judged by what is written, where they are: a name is not', () => {
    for (const host of ['10.0.0.1', '[::1]', '127.0.0.1.']) {
      expect([host, isRefusedAddress(host)]).toEqual([host, true]);
      expect([host, isRefusedAddress(host, { allowHosts: [host] })]).toEqual([host, false]);
    }
    for (const host of ['1.1.1.1', '[2606:4700::1111]', 'localhost']) expect(isRefusedAddress(host)).toBe(false);
  });

  test('H3: a refusal does not tell them', async () => {
    await expect(check('inside.corp.test')).rejects.toThrow("The host 'inside.corp.test' is not a public one.");
  });
});
