// What a tree of processes holds of the machine's memory, on Linux.
//
// Counted is what is its own, swapped out or not: the heap, stacks, shared memory. The text of programs and files that are only
// mapped are not: the kernel takes those back when it needs the room.

import { readProc, type TreeMember } from './process-tree.ts';

/** Whether it is more than `maxBytes`. Pages that processes share count for each of them at first, and once before it is said. */
export function isOverMemory(members: readonly TreeMember[], maxBytes: number): boolean {
  if (sum(members, quickBytes) <= maxBytes) return false;
  return sum(members, (pid) => exactBytes(pid) ?? quickBytes(pid)) > maxBytes;
}

function sum(members: readonly TreeMember[], bytesOf: (pid: number) => number): number {
  return members.reduce((bytes, { pid }) => bytes + bytesOf(pid), 0);
}

function quickBytes(pid: number): number {
  return bytesNamed(readProc(pid, 'status') ?? '', /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm) ?? 0;
}

/** Each shared page in equal parts to those who share it. The kernel counts long for it, so it is asked rarely. Null: it does not tell. */
function exactBytes(pid: number): number | null {
  return bytesNamed(readProc(pid, 'smaps_rollup') ?? '', /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$/gm);
}

function bytesNamed(text: string, lines: RegExp): number | null {
  const found = [...text.matchAll(lines)];
  return found.length === 0 ? null : found.reduce((bytes, [, kilobytes]) => bytes + Number(kilobytes) * 1024, 0);
}
