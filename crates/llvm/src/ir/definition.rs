//! What splitting a module asks of functions and variables, and changes in them.

use std::ffi::{CStr, c_uint};
use std::marker::PhantomData;

use inkwell::llvm_sys::LLVMLinkage::LLVMAppendingLinkage;
use inkwell::llvm_sys::LLVMUnnamedAddr;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;

use super::Global;

// SAFETY, for all that follows: as for the other methods of `Global`.
impl<'m> Global<'m> {
    /// The instructions of a function's body, debug records not counted; 0 for all else.
    pub(crate) fn instruction_count(self) -> u64 {
        let mut count = 0;
        if !self.is_function() {
            return count;
        }
        // SAFETY: see above; blocks and instructions are walked while nothing changes them.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(self.value);
            while !block.is_null() {
                let mut instruction = LLVMGetFirstInstruction(block);
                while !instruction.is_null() {
                    count += 1;
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
        count
    }

    /// Whether all uses are calls of this function, so that nothing knows its address.
    pub(crate) fn is_only_called(self) -> bool {
        // SAFETY: see above; each call gets the kind of value that the one before it tested for.
        unsafe {
            let mut one = LLVMGetFirstUse(self.value);
            while !one.is_null() {
                let user = LLVMGetUser(one);
                let is_call =
                    !LLVMIsACallInst(user).is_null() || !LLVMIsAInvokeInst(user).is_null();
                if !is_call || LLVMGetCalledValue(user) != self.value {
                    return false;
                }
                // The function called is the last operand; as an argument, its address is known.
                let arguments = LLVMGetNumArgOperands(user);
                if (0..arguments).any(|index| LLVMGetOperand(user, index) == self.value) {
                    return false;
                }
                one = LLVMGetNextUse(one);
            }
        }
        true
    }

    /// Whether this is a variable whose contents never change.
    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: see above; the call is for variables only.
        self.is_variable()
            && !self.is_externally_initialized()
            && unsafe { LLVMIsGlobalConstant(self.value) != 0 }
    }

    /// Whether two copies would not be the same: something may compare the address.
    pub(crate) fn has_address(self) -> bool {
        // SAFETY: see above; the enumeration has always had these three values.
        unsafe { LLVMGetUnnamedAddress(self.value) != LLVMUnnamedAddr::LLVMGlobalUnnamedAddr }
    }

    /// Gives the global another name, which nothing else in the module may have.
    ///
    /// # Safety
    /// Nobody holds what [`Global::name`] returned for this global.
    pub(crate) unsafe fn rename(self, name: &str) {
        // SAFETY: see above; LLVM copies the name, and the caller vouches for the old one.
        unsafe { LLVMSetValueName2(self.value, name.as_ptr().cast(), name.len()) }
    }
}

/// Whether the module has assembly outside of functions.
pub(crate) fn has_assembly(module: &Module<'_>) -> bool {
    let mut length = 0;
    // SAFETY: the module is alive; only the length is looked at.
    unsafe { LLVMGetModuleInlineAsm(module.as_mut_ptr(), &mut length) };
    length != 0
}

/// Leaves those members in a list of globals such as `llvm.used` that `stays` names, and drops a list that becomes
/// empty. A module without the list stays as it is.
pub(crate) fn filter_list(module: &Module<'_>, name: &CStr, stays: impl Fn(Global<'_>) -> bool) {
    // SAFETY: the module is alive. The list is a variable that nothing refers to, so that it can go, and no `Global`
    // of it is held here; its initialiser is an array of pointers, which lives in the context.
    unsafe {
        let list = LLVMGetNamedGlobal(module.as_mut_ptr(), name.as_ptr());
        if list.is_null() || LLVMGetInitializer(list).is_null() {
            return;
        }
        let members = LLVMGetInitializer(list);
        let mut kept: Vec<LLVMValueRef> = (0..LLVMGetNumOperands(members).max(0) as c_uint)
            .map(|index| LLVMGetOperand(members, index))
            .filter(|member| base(*member).is_some_and(&stays))
            .collect();
        LLVMDeleteGlobal(list);
        let Some(first) = kept.first() else {
            return;
        };
        let element = LLVMTypeOf(*first);
        let count = kept.len() as u64;
        let list = LLVMAddGlobal(
            module.as_mut_ptr(),
            LLVMArrayType2(element, count),
            name.as_ptr(),
        );
        LLVMSetInitializer(list, LLVMConstArray2(element, kept.as_mut_ptr(), count));
        LLVMSetLinkage(list, LLVMAppendingLinkage);
        LLVMSetSection(list, c"llvm.metadata".as_ptr());
    }
}

/// The global that a constant is the address of.
///
/// # Safety
/// `value` is a constant of a module that lives for `'m`.
unsafe fn base<'m>(mut value: LLVMValueRef) -> Option<Global<'m>> {
    // SAFETY: the caller vouches for the value; operands of a constant are constants, and casts have one.
    unsafe {
        while LLVMIsAGlobalValue(value).is_null() {
            if LLVMIsAConstantExpr(value).is_null() {
                return None;
            }
            value = LLVMGetOperand(value, 0);
        }
    }
    Some(Global {
        value,
        module: PhantomData,
    })
}
