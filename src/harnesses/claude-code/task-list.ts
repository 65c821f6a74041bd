// The program's task list is made and changed by tools of its own, one task at a time: the whole list is kept here (H-032).

import { objectOf, wordOf } from '../foreign/fields.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeFact } from '../foreign/native-fact.ts';
import type { Todo } from '../../core/run-event.ts';

export interface Task extends Todo {
  readonly id: string;
}

/** The list after a call that succeeded; null: the call was none on the list. */
export function changeTasks(tasks: readonly Task[], call: NativeCall, result: JsonObject): readonly Task[] | null {
  const input = objectOf(call.input);
  switch (call.name) {
    case 'TaskCreate': {
      const { id, subject } = objectOf(result['task']);
      const [taskId, content] = [wordOf(id), wordOf(subject)];
      if (taskId === null || content === null) return null;
      return [...tasks.filter((task) => task.id !== taskId), { id: taskId, content, status: 'pending' }];
    }
    case 'TaskUpdate': {
      if (result['success'] !== true) return null;
      const status = input['status'];
      const subject = wordOf(input['subject']);
      return tasks.flatMap((task): readonly Task[] => {
        if (task.id !== input['taskId']) return [task];
        if (status === 'deleted') return [];
        return [{ ...task, content: subject ?? task.content, status: isStatus(status) ? status : task.status }];
      });
    }
    default:
      return null;
  }
}

export const todosFact = (tasks: readonly Task[]): NativeFact => ({
  is: 'todos',
  todos: tasks.map(({ content, status }) => ({ content, status })),
});

function isStatus(value: unknown): value is Todo['status'] {
  return value === 'pending' || value === 'in_progress' || value === 'completed';
}
