"""Modules of the chapter *Training on multiple GPUs, concisely*.

=====================  ====================================================================
``ladder``             one training script in five files, each a few lines from the one before
``rungs``              the commands that a reader types, run in a folder or on hosts
``observe``            when a script's processes do what, without a word about it in the script
``memory``             what a step keeps, by kind
``young``              how often to save, where machines fail
``forecast``           a step, its bytes and its memory, predicted
``hook``               a hook for DDP that sends gradients as bfloat16, to be copied
``buckets``            DDP's buckets of several sizes beside ours, in processes that stay
``accuracy``           test accuracy on one, two and four devices, and what changes cost
``at_scale``           a step of a GPT on up to thousands of GPUs, split in three ways
``published``          steps that a paper printed: one given to that model, the others for it to predict
``twins``              two layers split by PyTorch's own means, and the bytes that this sends
``diagnosis``          three mistakes at which processes stand still, and what PyTorch says of them
``drawings``           the figures and tables
``drawings_accuracy``  those of the section on accuracy
``drawings_scale``     those of the section past one machine
=====================  ====================================================================
"""
