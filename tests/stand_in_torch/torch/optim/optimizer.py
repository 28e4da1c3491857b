from collections import OrderedDict

import torch

_global_optimizer_post_hooks = OrderedDict()


def register_optimizer_step_post_hook(hook):
    torch.broken("hooks")
    _global_optimizer_post_hooks[len(_global_optimizer_post_hooks)] = hook


class Optimizer(object):
    def step(self):
        for hook in list(_global_optimizer_post_hooks.values()):
            hook(self, (), {})
